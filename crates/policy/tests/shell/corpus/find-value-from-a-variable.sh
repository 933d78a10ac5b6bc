find . -name "$n" -exec alpha {} \;
