d='-exec'
find "$d" evil ';'
