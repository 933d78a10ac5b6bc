x='1 PATH=.'
\export A=$x
