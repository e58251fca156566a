//! Processes items in parallel, but begins them in their order.
//!
//! Sessions are sorted newest first. Rayon's `par_iter` splits a list in halves and begins both at the same time. Here,
//! each free thread processes the next item instead.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

/// Applies `work` to all items in parallel, beginning with the first items. The results are in the order of the items.
pub fn in_order<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = |_| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let threads = rayon::current_num_threads().min(items.len());
    let mut done: Vec<(usize, R)> =
        (0..threads).into_par_iter().with_max_len(1).flat_map_iter(take).collect();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn the_first_begin_first_and_results_keep_their_order() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let begun = Mutex::new(Vec::new());
            let items: Vec<usize> = (0..200).collect();
            let results = pool.install(|| {
                in_order(&items, |item| {
                    begun.lock().unwrap().push(*item);
                    item * 2
                })
            });
            assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
            // With several threads, a thread may be delayed between choosing an item and recording it.
            for (at, item) in begun.into_inner().unwrap().into_iter().enumerate() {
                assert!(threads > 1 || at == item, "{at} {item}");
            }
        }
        assert!(in_order(&[], |item: &u8| *item).is_empty());
    }
}
