//! Bump allocator for a process that lives for a millisecond.
//!
//! The cost of memory is in the first access to each page (2 us in a virtual machine) and in each system call, not in
//! the allocator's own work. musl gives every size class a separate page and returns pages as early as possible. A hook
//! allocates some tens of kilobytes and exits, so the arena allocates densely from one block and reuses freed parts,
//! unsplit, for requests of the same size. Large requests, and all requests after the block is full, use the system's
//! allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;

/// Size of the block in bytes. Bytes that are never used cost nothing.
const BLOCK_BYTES: usize = 512 << 10;

/// Minimum size in bytes of requests that the system's allocator handles, because it can return their memory.
const LARGE_BYTES: usize = 64 << 10;

/// Alignment of parts in bytes; their sizes are multiples of it.
const GRAIN: usize = 16;

/// Maximum size in bytes of parts that are kept in lists by size after they were freed.
const SMALL_BYTES: usize = 1024;

/// Number of lists of freed small parts.
const LISTS: usize = SMALL_BYTES / GRAIN + 1;

/// Maximum number of larger freed parts that are kept; there are only few.
const KEPT: usize = 16;

/// The allocator of the hooks. The start of the block shares a memory page with the state.
#[derive(Debug)]
#[repr(C)]
pub struct Arena {
    state: UnsafeCell<ArenaState>,
    block: UnsafeCell<ArenaBlock>,
}

#[derive(Debug)]
struct ArenaState {
    /// Position in the block after which nothing is allocated.
    free: usize,
    /// End of the area that was ever allocated; all bytes after it are still zero.
    touched: usize,
    /// For each list, the position of the part that was freed last, counted from 1; 0 if the list is empty. The first
    /// bytes of a freed part contain the position of the next part in its list.
    lists: [u32; LISTS],
    /// Larger parts that were freed.
    kept: [ArenaPart; KEPT],
}

/// A part of the block; a length of zero means none.
#[derive(Clone, Copy, Debug)]
struct ArenaPart {
    place: u32,
    bytes: u32,
}

impl ArenaState {
    /// Takes bytes from the smallest kept part that is large enough, and returns their position; `None` if there is no
    /// such part.
    fn take_kept(&mut self, bytes: usize) -> Option<usize> {
        let fitting = self.kept.iter_mut().filter(|part| part.bytes as usize >= bytes);
        let part = fitting.min_by_key(|part| part.bytes)?;
        let place = part.place as usize;
        // The rest of the part remains available.
        *part = ArenaPart { place: (place + bytes) as u32, bytes: part.bytes - bytes as u32 };
        Some(place)
    }

    /// Keeps a freed large part. If all places are in use, the part replaces the smallest kept part, unless it is
    /// smaller itself.
    fn keep(&mut self, place: usize, bytes: usize) {
        let part = ArenaPart { place: place as u32, bytes: bytes as u32 };
        if let Some(smallest) = self.kept.iter_mut().min_by_key(|part| part.bytes)
            && smallest.bytes < part.bytes
        {
            *smallest = part;
        }
    }
}

#[derive(Debug)]
#[repr(align(16))]
#[expect(dead_code, reason = "the bytes are reached through a pointer to the block")]
struct ArenaBlock([u8; BLOCK_BYTES]);

// SAFETY: only a process with one thread may have an arena; see `Arena::new`.
unsafe impl Sync for Arena {}

impl Arena {
    /// Creates an arena whose block is zero.
    ///
    /// # Safety
    /// The process must never have more than one thread. Nothing is locked or atomic, because that would take longer
    /// than all other work.
    #[must_use]
    pub const unsafe fn new() -> Self {
        Self {
            state: UnsafeCell::new(ArenaState {
                free: 0,
                touched: 0,
                lists: [0; LISTS],
                kept: [ArenaPart { place: 0, bytes: 0 }; KEPT],
            }),
            block: UnsafeCell::new(ArenaBlock([0; BLOCK_BYTES])),
        }
    }

    #[expect(clippy::mut_from_ref, reason = "there is one thread, and no caller keeps it")]
    fn state(&self) -> &mut ArenaState {
        // SAFETY: there is one thread, and no other reference exists while one of these does.
        unsafe { &mut *self.state.get() }
    }

    fn start(&self) -> *mut u8 {
        self.block.get().cast()
    }

    /// Returns the position of a pointer in the block; `None` if it points elsewhere.
    fn place(&self, pointer: *mut u8) -> Option<usize> {
        (pointer as usize).checked_sub(self.start() as usize).filter(|&place| place < BLOCK_BYTES)
    }

    /// Returns a pointer to the first bytes of a freed part, which contain the position of the next part.
    fn next(&self, place: usize) -> *mut u32 {
        // SAFETY: the place is in the block.
        unsafe { self.start().add(place).cast() }
    }

    /// Allocates bytes of the block. Returns their position, and whether they are still zero; `None` if the system's
    /// allocator must be used.
    fn take(&self, layout: Layout) -> Option<(usize, bool)> {
        if layout.size() >= LARGE_BYTES || layout.align() > GRAIN {
            return None;
        }
        let bytes = rounded(layout.size());
        let state = self.state();
        if let Some(first @ 1..) = state.lists.get(bytes / GRAIN).copied() {
            let place = first as usize - 1;
            // SAFETY: a part in a list is aligned and has no other owner.
            state.lists[bytes / GRAIN] = unsafe { self.next(place).read() };
            return Some((place, false));
        }
        if bytes > SMALL_BYTES
            && let Some(place) = state.take_kept(bytes)
        {
            return Some((place, false));
        }
        let place = state.free;
        let end = place.checked_add(bytes).filter(|&end| end <= BLOCK_BYTES)?;
        state.free = end;
        let is_zero = state.touched <= place;
        state.touched = state.touched.max(end);
        Some((place, is_zero))
    }

    /// Frees a part.
    fn give_back(&self, place: usize, bytes: usize) {
        if self.resize_last(place, bytes, 0) {
            return;
        }
        let bytes = rounded(bytes);
        if bytes == 0 {
            return;
        }
        match self.state().lists.get_mut(bytes / GRAIN) {
            Some(first) => {
                // SAFETY: the part has no owner any more, and is aligned and long enough.
                unsafe { self.next(place).write(*first) };
                *first = place as u32 + 1;
            }
            None => self.state().keep(place, bytes),
        }
    }

    /// Resizes the part that was allocated last. Returns `false` if the part is not the last one, or if the block has
    /// no room.
    fn resize_last(&self, place: usize, old_bytes: usize, new_bytes: usize) -> bool {
        let state = self.state();
        let new_end = place + rounded(new_bytes);
        let is_last = state.free == place + rounded(old_bytes);
        if !is_last || new_end > BLOCK_BYTES {
            return false;
        }
        state.free = new_end;
        state.touched = state.touched.max(new_end);
        true
    }
}

/// Returns the number of bytes that a part of this size occupies.
const fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(GRAIN)
}

// SAFETY: parts of the block are aligned as requested, do not overlap, and do not move; all other pointers come from
// the system's allocator.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            // SAFETY: the place is in the block.
            Some((place, _)) => unsafe { self.start().add(place) },
            // SAFETY: the caller upholds the contract of `alloc`.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some((place, zero)) => {
                // SAFETY: the place is in the block, and so are all bytes of the layout.
                unsafe {
                    let pointer = self.start().add(place);
                    if !zero {
                        pointer.write_bytes(0, layout.size());
                    }
                    pointer
                }
            }
            // SAFETY: the caller upholds the contract of `alloc_zeroed`.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match self.place(pointer) {
            Some(place) => self.give_back(place, layout.size()),
            // SAFETY: the system's allocator returned it.
            None => unsafe { System.dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        let Some(place) = self.place(pointer) else {
            // SAFETY: the system's allocator returned it.
            return unsafe { System.realloc(pointer, layout, new_bytes) };
        };
        if self.resize_last(place, layout.size(), new_bytes) || new_bytes <= layout.size() {
            return pointer;
        }
        let Ok(new_layout) = Layout::from_size_align(new_bytes, layout.align()) else {
            return null_mut();
        };
        // SAFETY: the new part does not overlap the old one, and it is long enough for the old one's contents.
        unsafe {
            let new = self.alloc(new_layout);
            if !new.is_null() {
                new.copy_from_nonoverlapping(pointer, layout.size());
                self.give_back(place, layout.size());
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn parts_are_dense_aligned_and_apart() {
        // SAFETY: no other thread accesses it.
        static ARENA: Arena = unsafe { Arena::new() };
        let arena = &ARENA;
        // SAFETY: the layouts are not empty, and the parts are used within their bounds.
        unsafe {
            let a = arena.alloc(layout(3, 1));
            let b = arena.alloc(layout(8, 8));
            assert_eq!(b as usize - a as usize, GRAIN);
            a.write_bytes(1, 3);
            b.write_bytes(2, 8);
            assert_eq!((a.add(2).read(), b.read()), (1, 2));
        }
    }

    #[test]
    fn the_last_part_grows_where_it_is_and_others_move() {
        // SAFETY: no other thread accesses it.
        static ARENA: Arena = unsafe { Arena::new() };
        let arena = &ARENA;
        // SAFETY: as above.
        unsafe {
            let a = arena.alloc(layout(100, 4));
            a.write_bytes(7, 100);
            let grown = arena.realloc(a, layout(100, 4), 1000);
            assert_eq!(grown, a);
            let b = arena.alloc(layout(4, 4));
            let moved = arena.realloc(grown, layout(1000, 4), 2000);
            assert!(moved > b && moved.add(99).read() == 7);
            // After it is freed and allocated again, the memory must be zeroed on request.
            moved.write_bytes(7, 2000);
            arena.dealloc(moved, layout(2000, 4));
            let zeroed = arena.alloc_zeroed(layout(2000, 4));
            assert_eq!((zeroed, zeroed.read()), (moved, 0));
        }
    }

    #[test]
    fn what_is_given_back_is_handed_out_again() {
        // SAFETY: no other thread accesses it.
        static ARENA: Arena = unsafe { Arena::new() };
        let arena = &ARENA;
        // SAFETY: as above.
        unsafe {
            for size in [1, 16, 40, 1024, 1500, 2048, 5000, 60_000] {
                let part = arena.alloc(layout(size, 8));
                let last = arena.alloc(layout(16, 8));
                part.write_bytes(9, size);
                arena.dealloc(part, layout(size, 8));
                let larger = arena.alloc(layout(size * 2 + 16, 8));
                assert!(larger > last, "{size}");
                let again = arena.alloc_zeroed(layout(size, 8));
                assert_eq!((again, again.add(size - 1).read()), (part, 0), "{size}");
            }
        }
    }

    #[test]
    fn of_a_large_part_what_is_left_is_handed_out_too() {
        // SAFETY: no other thread accesses it.
        static ARENA: Arena = unsafe { Arena::new() };
        let arena = &ARENA;
        // SAFETY: as above.
        unsafe {
            let part = arena.alloc(layout(30_000, 8));
            let last = arena.alloc(layout(16, 8));
            arena.dealloc(part, layout(30_000, 8));
            let first = arena.alloc(layout(20_000, 8));
            let second = arena.alloc(layout(9_000, 8));
            assert_eq!((first, second), (part, part.add(20_000)));
            assert!(arena.alloc(layout(9_000, 8)) > last);
        }
    }

    /// Number of steps. Each step checks all bytes, which is slow in an interpreter.
    const STEPS: usize = if cfg!(miri) { 30 } else { 200 };

    proptest::proptest! {
        #[test]
        fn parts_never_overlap(steps in proptest::collection::vec((1usize..3000, 0usize..8, 0u8..3), 1..STEPS)) {
            // SAFETY: a new arena is all zeros, and no other thread accesses this one.
            let arena = Box::leak(unsafe { Box::<Arena>::new_zeroed().assume_init() });
            let mut parts: Vec<(*mut u8, usize, u8)> = Vec::new();
            // SAFETY: each part is used within its bounds and until it is freed.
            unsafe {
                for (number, (size, which, what)) in steps.into_iter().enumerate() {
                    let mark = number as u8;
                    match what {
                        0 => {
                            let part = arena.alloc(layout(size, 8));
                            part.write_bytes(mark, size);
                            parts.push((part, size, mark));
                        }
                        1 if which < parts.len() => {
                            let (part, size, _) = parts.swap_remove(which);
                            arena.dealloc(part, layout(size, 8));
                        }
                        2 if which < parts.len() => {
                            let (part, old, mark) = parts[which];
                            let part = arena.realloc(part, layout(old, 8), size);
                            proptest::prop_assert_eq!(part.add(old.min(size) - 1).read(), mark);
                            part.write_bytes(mark, size);
                            parts[which] = (part, size, mark);
                        }
                        _ => {}
                    }
                    for &(part, size, mark) in &parts {
                        proptest::prop_assert!((0..size).all(|at| part.add(at).read() == mark));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_large_or_too_much_comes_from_the_system() {
        // SAFETY: no other thread accesses it.
        static ARENA: Arena = unsafe { Arena::new() };
        let arena = &ARENA;
        // SAFETY: as above.
        unsafe {
            let large = arena.alloc(layout(LARGE_BYTES, 1));
            assert_eq!(arena.place(large), None);
            let large = arena.realloc(large, layout(LARGE_BYTES, 1), 2 * LARGE_BYTES);
            large.write_bytes(1, 2 * LARGE_BYTES);
            arena.dealloc(large, layout(2 * LARGE_BYTES, 1));
            let parts: Vec<*mut u8> =
                (0..BLOCK_BYTES / 1024 + 3).map(|_| arena.alloc(layout(1024, 1))).collect();
            assert!(parts.iter().all(|part| !part.is_null()));
            assert_eq!(parts.iter().filter(|part| arena.place(**part).is_none()).count(), 3);
        }
    }
}
