y='$(evil)'
echo {$,x}{y@P}
