//! Memory for a process that lives for a millisecond.
//!
//! What costs is not the allocator's work but each page touched for the first time (2 us in a
//! virtual machine), and each call to the operating system. musl gives every size class a page
//! of its own and returns pages as soon as it can. A hook allocates a few ten kilobytes and then
//! ends, so here memory is handed out densely from one block and mostly not taken back. What is
//! large, or comes when the block is used up, is left to the system's allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the block. Those that are never handed out cost nothing.
const BLOCK_BYTES: usize = 512 << 10;

/// Bytes from which on the system's allocator serves better: it can give them back.
const LARGE_BYTES: usize = 64 << 10;

/// The allocator of the hooks.
#[derive(Debug)]
pub struct Arena {
    block: UnsafeCell<Block>,
    /// Where the free part of the block starts.
    free: AtomicUsize,
    /// Beyond this nothing was ever handed out, so it is still zero.
    touched: AtomicUsize,
}

#[derive(Debug)]
#[repr(align(4096))]
#[expect(dead_code, reason = "the bytes are reached through a pointer to the block")]
struct Block([u8; BLOCK_BYTES]);

// SAFETY: parts of the block are handed out once each, by way of an atomic counter.
unsafe impl Sync for Arena {}

impl Arena {
    /// A block of zeros.
    #[expect(clippy::new_without_default, reason = "it is only ever a static")]
    pub const fn new() -> Self {
        Self {
            block: UnsafeCell::new(Block([0; BLOCK_BYTES])),
            free: AtomicUsize::new(0),
            touched: AtomicUsize::new(0),
        }
    }

    fn start(&self) -> *mut u8 {
        self.block.get().cast()
    }

    /// Where in the block a pointer points.
    fn place(&self, pointer: *mut u8) -> Option<usize> {
        (pointer as usize).checked_sub(self.start() as usize).filter(|&place| place < BLOCK_BYTES)
    }

    /// Takes bytes from the block; the place, and whether they are still zero.
    fn take(&self, layout: Layout) -> Option<(usize, bool)> {
        if layout.size() >= LARGE_BYTES || layout.align() > align_of::<Block>() {
            return None;
        }
        let mut free = self.free.load(Ordering::Relaxed);
        loop {
            let place = free.next_multiple_of(layout.align());
            let end = place.checked_add(layout.size()).filter(|&end| end <= BLOCK_BYTES)?;
            match self.free.compare_exchange_weak(free, end, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    return Some((place, self.touched.fetch_max(end, Ordering::AcqRel) <= place));
                }
                Err(now) => free = now,
            }
        }
    }

    /// Moves the end of the last part handed out; `false` when it is not the last, or too long.
    fn resize_last(&self, place: usize, old_bytes: usize, new_bytes: usize) -> bool {
        let (old_end, new_end) = (place + old_bytes, place + new_bytes);
        if new_end > BLOCK_BYTES {
            return false;
        }
        let moved =
            self.free.compare_exchange(old_end, new_end, Ordering::AcqRel, Ordering::Relaxed);
        if moved.is_ok() {
            self.touched.fetch_max(new_end, Ordering::AcqRel);
        }
        moved.is_ok()
    }
}

// SAFETY: parts of the block are aligned as asked, do not overlap, and stay where they are; what
// is not in the block is the system allocator's.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            // SAFETY: the place lies in the block.
            Some((place, _)) => unsafe { self.start().add(place) },
            // SAFETY: as the caller promised.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some((place, zero)) => {
                // SAFETY: the place lies in the block, and so do all bytes of the layout.
                unsafe {
                    let pointer = self.start().add(place);
                    if !zero {
                        pointer.write_bytes(0, layout.size());
                    }
                    pointer
                }
            }
            // SAFETY: as the caller promised.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match self.place(pointer) {
            // Only the last part is taken back.
            Some(place) => drop(self.resize_last(place, layout.size(), 0)),
            // SAFETY: it came from the system's allocator.
            None => unsafe { System.dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        let Some(place) = self.place(pointer) else {
            // SAFETY: it came from the system's allocator.
            return unsafe { System.realloc(pointer, layout, new_bytes) };
        };
        if new_bytes <= layout.size() || self.resize_last(place, layout.size(), new_bytes) {
            return pointer;
        }
        let Ok(new_layout) = Layout::from_size_align(new_bytes, layout.align()) else {
            return null_mut();
        };
        // SAFETY: the new part is another one, and long enough for what the old one holds.
        unsafe {
            let new = self.alloc(new_layout);
            if !new.is_null() {
                new.copy_from_nonoverlapping(pointer, layout.size());
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
        static ARENA: Arena = Arena::new();
        let arena = &ARENA;
        // SAFETY: the layouts are not empty, and the parts are used within their bounds.
        unsafe {
            let a = arena.alloc(layout(3, 1));
            let b = arena.alloc(layout(8, 8));
            assert_eq!(b as usize - a as usize, 8);
            a.write_bytes(1, 3);
            b.write_bytes(2, 8);
            assert_eq!((a.add(2).read(), b.read()), (1, 2));
        }
    }

    #[test]
    fn the_last_part_grows_where_it_is_and_others_move() {
        static ARENA: Arena = Arena::new();
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
            // Taken back and handed out again, it is zeroed where that is asked for.
            moved.write_bytes(7, 2000);
            arena.dealloc(moved, layout(2000, 4));
            let zeroed = arena.alloc_zeroed(layout(2000, 4));
            assert_eq!((zeroed, zeroed.read()), (moved, 0));
        }
    }

    #[test]
    fn what_is_large_or_too_much_comes_from_the_system() {
        static ARENA: Arena = Arena::new();
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
