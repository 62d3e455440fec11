// KeychainPKCS12: containers of a key and its certificates under a password (RFC 7292).

#if PKCS12
import NIOSSL
#endif
