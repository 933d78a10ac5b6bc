x='. -exec evil {} ;'
find $x
