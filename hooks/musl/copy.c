/* Copying and comparing bytes, in place of musl's: its instructions for long runs of bytes take
 * longer to start than most of a hook's runs take in all, and it compares byte by byte. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t word __attribute__((aligned(1), may_alias));
typedef uint32_t half __attribute__((aligned(1), may_alias));
typedef uint16_t quarter __attribute__((aligned(1), may_alias));
typedef long long block __attribute__((vector_size(16), aligned(1), may_alias));

/* From so many bytes on the processor's own instruction is faster. */
enum { LONG_RUN = 1024 };

void *memcpy(void *restrict to, const void *restrict from, size_t count) {
    unsigned char *out = to;
    const unsigned char *in = from;
    if (count > 16) {
        if (count >= LONG_RUN) {
            void *end = to;
            __asm__ volatile("rep movsb" : "+D"(end), "+S"(in), "+c"(count) : : "memory");
            return to;
        }
        /* The last block overlaps the one before it. */
        block last = *(const block *)(in + count - 16);
        for (size_t at = 0; at + 16 < count; at += 16)
            *(block *)(out + at) = *(const block *)(in + at);
        *(block *)(out + count - 16) = last;
    } else if (count >= 8) {
        word first = *(const word *)in, last = *(const word *)(in + count - 8);
        *(word *)out = first;
        *(word *)(out + count - 8) = last;
    } else if (count >= 4) {
        half first = *(const half *)in, last = *(const half *)(in + count - 4);
        *(half *)out = first;
        *(half *)(out + count - 4) = last;
    } else if (count >= 2) {
        quarter first = *(const quarter *)in, last = *(const quarter *)(in + count - 2);
        *(quarter *)out = first;
        *(quarter *)(out + count - 2) = last;
    } else if (count) {
        *out = *in;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t count) {
    unsigned char *out = to;
    const unsigned char *in = from;
    /* Forwards, what is still to be read is never written to before, unless the target begins in the
     * source; short runs are read whole first. */
    if (count <= 16 || (uintptr_t)out - (uintptr_t)in >= count) return memcpy(to, from, count);
    block first = *(const block *)in;
    for (size_t at = count; at > 16; at -= 16)
        *(block *)(out + at - 16) = *(const block *)(in + at - 16);
    *(block *)out = first;
    return to;
}

int memcmp(const void *left, const void *right, size_t count) {
    const unsigned char *a = left, *b = right;
    size_t at = 0;
    for (; at + 8 <= count; at += 8) {
        uint64_t x = *(const word *)(a + at), y = *(const word *)(b + at);
        if (x != y) {
            x = __builtin_bswap64(x);
            y = __builtin_bswap64(y);
            return x < y ? -1 : 1;
        }
    }
    for (; at < count; at++)
        if (a[at] != b[at]) return a[at] - b[at];
    return 0;
}

int bcmp(const void *left, const void *right, size_t count) { return memcmp(left, right, count); }
