al''pha; b"et"a; \gamma; $'\x64elta'; al\
pha
