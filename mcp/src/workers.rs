//! A few threads that answer calls, with a bounded queue. Many calls therefore do not increase memory use, and a slow
//! call does not delay other clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, Semaphore};

use crate::local::Local;

/// Maximum number of calls that are answered at the same time.
const WORKERS_MAX: usize = 4;
/// Maximum number of blocking threads: the workers, two for input and output, one for idle tasks, and spare ones.
pub const THREADS_MAX: usize = WORKERS_MAX + 6;
/// Maximum calls in the queue.
const WAITING_MAX: usize = 1_024;
/// Time without calls after which the backend releases its caches.
pub const REST_AFTER: Duration = Duration::from_secs(5 * 60);
/// Interval of the checks for idle time.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The threads that answer calls, and the number of waiting calls.
pub struct Workers {
    free: Semaphore,
    waiting: AtomicUsize,
    last: Mutex<Instant>,
}

/// A call in the queue. It is counted until it is answered or its client cancels it.
struct WaitingCall<'a>(&'a AtomicUsize);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reason why a call was not answered.
#[derive(Debug)]
pub enum Unanswered {
    /// Too many calls are waiting.
    Busy,
    /// The call panicked or was aborted.
    Failed(String),
}

impl Default for Workers {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            free: Semaphore::new(threads.clamp(1, WORKERS_MAX)),
            waiting: AtomicUsize::new(0),
            last: Mutex::new(Instant::now()),
        }
    }
}

impl Workers {
    /// Runs a call when a thread is free.
    ///
    /// # Errors
    /// Returns an error if too many calls are waiting.
    pub async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = WaitingCall(&self.waiting);
        if before >= WAITING_MAX {
            return Err(Unanswered::Busy);
        }
        let permit = self.free.acquire().await;
        let ran = match permit {
            Ok(_permit) => {
                tokio::task::spawn_blocking(call).await.map_err(|error| error.to_string())
            }
            Err(closed) => Err(closed.to_string()),
        };
        *self.last.lock().await = Instant::now();
        ran.map_err(Unanswered::Failed)
    }

    /// Releases the backend's caches after each period of `after` without calls.
    pub async fn rest_when_idle(&self, backend: Arc<Local>, after: Duration) {
        let mut rested = *self.last.lock().await;
        loop {
            tokio::time::sleep(LOOK_EVERY.min(after)).await;
            let last = *self.last.lock().await;
            if last != rested
                && last.elapsed() >= after
                && self.waiting.load(Ordering::Relaxed) == 0
            {
                let backend = Arc::clone(&backend);
                drop(tokio::task::spawn_blocking(move || backend.rest()).await);
                rested = last;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_let_go_of_is_counted_no_longer() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let workers = Workers::default();
            let all = u32::try_from(workers.free.available_permits()).unwrap();
            let busy = workers.free.acquire_many(all).await.unwrap();
            let call = workers.run(|| ());
            assert!(tokio::time::timeout(Duration::from_millis(1), call).await.is_err());
            assert_eq!(workers.waiting.load(Ordering::Relaxed), 0);
            drop(busy);
            assert!(workers.run(|| ()).await.is_ok());
        });
    }

    #[test]
    fn what_is_too_much_at_once_is_refused_and_the_rest_is_answered() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let workers = Arc::new(Workers::default());
            let (go, wait) = std::sync::mpsc::channel::<()>();
            let wait = Arc::new(std::sync::Mutex::new(wait));
            let calls: Vec<_> = (0..WAITING_MAX + 3)
                .map(|_| {
                    let (workers, wait) = (Arc::clone(&workers), Arc::clone(&wait));
                    tokio::spawn(async move {
                        let call = move || wait.lock().unwrap().recv().is_err();
                        workers.run(call).await.is_ok()
                    })
                })
                .collect();
            // The last calls fill the queue before any call has ended.
            tokio::task::yield_now().await;
            while workers.waiting.load(Ordering::Relaxed) < WAITING_MAX {
                tokio::task::yield_now().await;
            }
            drop(go);
            let mut answered = 0;
            for call in calls {
                answered += usize::from(call.await.unwrap());
            }
            assert_eq!(answered, WAITING_MAX);
        });
    }
}
