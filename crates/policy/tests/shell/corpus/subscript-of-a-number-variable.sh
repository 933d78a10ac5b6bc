OPTIND='a[$(evil)]'
