env -- - alpha
