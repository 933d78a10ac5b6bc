sh -c 'alpha 12>f'
