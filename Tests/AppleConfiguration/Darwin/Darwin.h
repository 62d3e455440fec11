// What this package uses of Apple's C library, declared as there, with the numbers that Linux has for
// the same things. What is missing here can't be used by mistake.

#include <stddef.h>
#include <stdint.h>

#define PROT_READ 0x1
#define PROT_WRITE 0x2
#define MAP_PRIVATE 0x02
#define MAP_ANONYMOUS 0x20
#define MAP_ANON MAP_ANONYMOUS

void *mmap(void *, size_t, int, int, int, int64_t);
int munmap(void *, size_t);
int mlock(const void *, size_t);
void explicit_bzero(void *, size_t);
int getentropy(void *, size_t);

static inline int memset_s(void *s, size_t smax, int c, size_t n) {
    if (c != 0 || n > smax) return 22;
    explicit_bzero(s, n);
    return 0;
}

static inline void arc4random_buf(void *buffer, size_t count) {
    if (getentropy(buffer, count) != 0) __builtin_trap();
}
