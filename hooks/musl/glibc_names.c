/* Two names of glibc that Rust's standard library for the gnu target refers to, for linking that
 * library against musl's libc.a (see scripts/build-hooks). */

/* The standard library asks for the version before it uses newer functions; all of those it
 * looks up by name at run time, and does without. */
const char *gnu_get_libc_version(void) { return "2.36"; }

/* The unwinder's short cut; -1 says that it knows nothing, and dl_iterate_phdr is used. */
int _dl_find_object(void *address, void *result) {
    (void)address;
    (void)result;
    return -1;
}
