//! The paged KV pool: blocks with reference counts, a content cache, and reuse of the least recently used.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A block's place in the pool.
pub(crate) type Block = u32;

/// What a full block holds: equal keys mean equal tokens with equal history. Zero is no key.
pub(crate) type Key = u64;

const NONE: Block = Block::MAX;

/// The pool. Blocks nobody holds wait in the order they were let go; one that still holds known
/// content can be taken again by its key until it is handed out for something else.
#[derive(Debug)]
pub(crate) struct BlockPool {
    holders: Vec<u32>,
    keys: Vec<Key>,
    before: Vec<Block>,
    after: Vec<Block>,
    first_free: Block,
    last_free: Block,
    free: u32,
    known: HashMap<Key, Block, BuildHasherDefault<Mixed>>,
}

/// Keys are mixed already: hashing them again would only cost time.
#[derive(Default)]
pub(crate) struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |h, b| h.rotate_left(8) ^ u64::from(*b));
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

impl BlockPool {
    /// A pool of so many blocks, all free.
    pub(crate) fn new(blocks: u32) -> Self {
        let n = blocks as usize;
        let mut pool = Self {
            holders: vec![0; n],
            keys: vec![0; n],
            before: vec![NONE; n],
            after: vec![NONE; n],
            first_free: NONE,
            last_free: NONE,
            free: 0,
            known: HashMap::default(),
        };
        for block in 0..blocks {
            pool.append(block);
        }
        pool
    }

    /// Blocks nobody holds.
    pub(crate) const fn free(&self) -> u32 {
        self.free
    }

    /// All blocks.
    pub(crate) fn total(&self) -> u32 {
        self.holders.len() as u32
    }

    /// Takes a free block for new content; its old content is forgotten.
    pub(crate) fn take(&mut self) -> Option<Block> {
        let block = self.first_free;
        if block == NONE {
            return None;
        }
        self.unlink(block);
        let key = std::mem::take(&mut self.keys[block as usize]);
        if key != 0 && self.known.get(&key) == Some(&block) {
            self.known.remove(&key);
        }
        self.holders[block as usize] = 1;
        Some(block)
    }

    /// Whether content of this key is in the pool, and whether nobody holds it.
    pub(crate) fn find(&self, key: Key) -> Option<(Block, bool)> {
        let block = *self.known.get(&key)?;
        Some((block, self.holders[block as usize] == 0))
    }

    /// Holds a block that [`Self::find`] gave.
    pub(crate) fn hold(&mut self, block: Block) {
        if self.holders[block as usize] == 0 {
            self.unlink(block);
        }
        self.holders[block as usize] += 1;
    }

    /// Lets a block go; without holders it becomes free, content kept.
    pub(crate) fn release(&mut self, block: Block) {
        let holders = &mut self.holders[block as usize];
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            self.append(block);
        }
    }

    /// Says what a full block holds, so that others can find it. The first block of a key stays.
    pub(crate) fn name(&mut self, block: Block, key: Key) {
        if key != 0 && self.keys[block as usize] == 0 {
            self.keys[block as usize] = key;
            self.known.entry(key).or_insert(block);
        }
    }

    /// Forgets all content.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.keys.fill(0);
    }

    fn append(&mut self, block: Block) {
        self.before[block as usize] = self.last_free;
        self.after[block as usize] = NONE;
        match self.last_free {
            NONE => self.first_free = block,
            last => self.after[last as usize] = block,
        }
        self.last_free = block;
        self.free += 1;
    }

    fn unlink(&mut self, block: Block) {
        let (before, after) = (self.before[block as usize], self.after[block as usize]);
        match before {
            NONE => self.first_free = after,
            b => self.after[b as usize] = after,
        }
        match after {
            NONE => self.last_free = before,
            a => self.before[a as usize] = before,
        }
        self.free -= 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_recently_let_go_is_reused_first_and_its_content_forgotten() {
        let mut pool = BlockPool::new(2);
        let (a, b) = (pool.take().unwrap(), pool.take().unwrap());
        assert_eq!(pool.take(), None);
        pool.name(a, 11);
        pool.name(b, 22);
        pool.release(b);
        pool.release(a);
        assert_eq!(pool.take(), Some(b));
        assert_eq!((pool.find(22), pool.find(11)), (None, Some((a, true))));
    }

    #[test]
    fn content_can_be_shared_and_taken_back_from_the_free_list() {
        let mut pool = BlockPool::new(4);
        let a = pool.take().unwrap();
        pool.name(a, 7);
        pool.hold(a);
        pool.release(a);
        assert_eq!((pool.find(7), pool.free()), (Some((a, false)), 3));
        pool.release(a);
        assert_eq!((pool.find(7), pool.free()), (Some((a, true)), 4));
        pool.hold(a);
        assert_eq!(pool.free(), 3);
    }

    proptest! {
        /// Whatever happens, every block is either held or free, and known content is where it is said to be.
        #[test]
        fn blocks_are_never_lost(actions in proptest::collection::vec((0_u8..4, 1_u64..9), 1..400)) {
            let mut pool = BlockPool::new(8);
            let mut held: Vec<Block> = Vec::new();
            for (action, key) in actions {
                match action {
                    0 => held.extend(pool.take()),
                    1 => if let Some(block) = held.last() { pool.name(*block, key) },
                    2 => if let Some((block, _)) = pool.find(key) { pool.hold(block); held.push(block) },
                    _ => if !held.is_empty() { pool.release(held.swap_remove(key as usize % held.len())) },
                }
                let mut distinct = held.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(pool.free() as usize + distinct.len(), 8);
                for (k, b) in &pool.known { prop_assert_eq!(pool.keys[*b as usize], *k); }
            }
        }
    }
}
