//! Who is in the next step: running requests first, then as many waiting ones as fit.

use crate::engine::blocks::BlockPool;
use crate::engine::{Engine, EngineConfig, Policy, Sequence, StepLoad};
use crate::time::Nanos;

impl Engine {
    /// Begins a step and says when it ends; `None` where there is nothing to do.
    pub fn begin_step(&mut self, now: Nanos, sink: &mut impl crate::engine::Sink) -> Option<Nanos> {
        debug_assert!(!self.stepping, "the step before has not ended");
        for mut sequence in std::mem::take(&mut self.inbox) {
            sequence.queued = now;
            self.enqueue(sequence);
        }
        let mut plan = Plan { budget: self.config.token_budget, load: StepLoad::default() };
        let preempted = self.continue_running(&mut plan);
        // Engines admit nobody in a step in which they had to throw somebody back.
        if !preempted {
            let ahead = self.config.plans_ahead && plan.load.sequences > 0;
            if ahead {
                plan.budget = self.left_for_next_step();
            }
            self.admit(&mut plan, ahead, now, sink);
        }
        if plan.load.sequences == 0 {
            return None;
        }
        self.stepping = true;
        let took = self.config.step.sample(plan.load, self.steps, &mut self.random);
        self.steps += 1;
        Some(now + took)
    }

    fn enqueue(&mut self, sequence: Sequence) {
        match self.config.policy {
            Policy::Fcfs => self.waiting.push_back(sequence),
            Policy::Priority => {
                let rank = |s: &Sequence| (s.request.priority, s.request.arrival);
                let at = self.waiting.partition_point(|s| rank(s) <= rank(&sequence));
                self.waiting.insert(at, sequence);
            }
        }
    }

    /// Gives every running request its tokens, throwing back the last ones where blocks run out.
    fn continue_running(&mut self, plan: &mut Plan) -> bool {
        let mut preempted = false;
        let drafts = self.config.speculation.map_or(0, |s| s.draft_tokens);
        let block_tokens = u64::from(self.config.block_tokens);
        let mut index = 0;
        while index < self.running.len() && plan.budget > 0 {
            let sequence = &mut self.running[index];
            let mut tokens = sequence.missing();
            if tokens == 1 && sequence.generated > 0 && !sequence.aborted {
                let room = sequence.request.output - sequence.generated;
                tokens += drafts.min(room.saturating_sub(1));
            }
            let tokens = tokens.min(plan.budget);
            // Mostly the last block has room. Multiplying shows it; the division in `grow` takes much longer.
            let has_room =
                u64::from(sequence.computed + tokens) <= sequence.blocks.len() as u64 * block_tokens;
            if has_room || grow(sequence, tokens, &self.config, &mut self.pool) {
                plan.take(sequence, tokens);
                index += 1;
                continue;
            }
            preempted = true;
            let victim = self.victim();
            let thrown = self.running.remove(victim);
            plan.give_back(&thrown);
            self.throw_back(thrown);
            // A victim before us moves us one to the front; we ourselves may be the victim.
            index -= usize::from(victim < index);
        }
        preempted
    }

    fn victim(&self) -> usize {
        let last = self.running.len() - 1;
        match self.config.policy {
            Policy::Fcfs => last,
            Policy::Priority => (0..=last)
                .max_by_key(|&i| (self.running[i].request.priority, self.running[i].request.arrival))
                .unwrap_or(last),
        }
    }

    /// Back to the head of the queue, to be computed again.
    fn throw_back(&mut self, mut sequence: Sequence) {
        sequence.blocks.drain(..).rev().for_each(|b| self.pool.release(b));
        sequence.computed = 0;
        sequence.scheduled = 0;
        sequence.preemptions += 1;
        sequence.unreported_preemptions += 1;
        match self.config.policy {
            Policy::Fcfs => self.waiting.push_front(sequence),
            Policy::Priority => self.enqueue(sequence),
        }
    }

    /// Tokens the running requests will leave of the next step's budget.
    fn left_for_next_step(&self) -> u32 {
        let wanted = self.running.iter().fold(0_u32, |sum, s| {
            let missing = s.missing() - s.scheduled.min(s.missing());
            let goes_on = s.generated + 1 < s.request.output;
            sum.saturating_add(if missing == 0 { u32::from(goes_on) } else { missing })
        });
        self.config.token_budget.saturating_sub(wanted)
    }

    /// Takes waiting requests in order until something runs out; the head holds up the rest. Those taken
    /// `ahead` are computed from the next step on.
    fn admit(&mut self, plan: &mut Plan, ahead: bool, now: Nanos, sink: &mut impl crate::engine::Sink) {
        self.deferred = 0;
        let mut index = 0;
        while index < self.waiting.len()
            && plan.budget > 0
            && self.running.len() < self.config.max_sequences as usize
        {
            if self.lacks_adapter(&self.waiting[index]) {
                self.deferred += 1;
                index += 1;
                continue;
            }
            let Some((hit_blocks, tokens)) = self.fits(&self.waiting[index], plan.budget) else { break };
            let Some(mut sequence) = self.waiting.remove(index) else { break };
            let hits = hit_blocks.len() as u32;
            for block in hit_blocks {
                self.pool.hold(block);
                sequence.blocks.push(block);
            }
            sequence.computed = hits * self.config.block_tokens;
            if ahead {
                plan.budget -= tokens;
            } else {
                plan.take(&mut sequence, tokens);
            }
            if sequence.scheduled_at.is_none() {
                sequence.scheduled_at = Some(now);
                sequence.cached = sequence.computed;
                sink.admitted(&sequence, now);
            }
            // Enough blocks are free: `fits` counted the whole prompt.
            grow(&mut sequence, tokens, &self.config, &mut self.pool);
            self.running.push(sequence);
        }
    }

    fn lacks_adapter(&self, sequence: &Sequence) -> bool {
        let Some(adapter) = sequence.request.adapter else { return false };
        let mut loaded: Vec<u32> = self.running.iter().filter_map(|s| s.request.adapter).collect();
        loaded.sort_unstable();
        loaded.dedup();
        !loaded.contains(&adapter) && loaded.len() >= self.config.max_adapters as usize
    }

    /// Cached blocks and tokens of the first chunk of a waiting request, if all it knows fits the pool.
    fn fits(&self, sequence: &Sequence, budget: u32) -> Option<(Vec<u32>, u32)> {
        let known = sequence.known_tokens();
        let (hits, idle_hits) = self.cached_blocks(sequence);
        let missing = known - hits.len() as u32 * self.config.block_tokens;
        let tokens = missing.min(budget);
        if !self.config.chunked_prefill && missing > budget && budget < self.config.token_budget {
            return None;
        }
        // Hits nobody holds are free now and will not be: they count as taken.
        let new = self.config.blocks_for(known) - hits.len() as u32;
        (new + idle_hits <= self.pool.free()).then_some((hits, tokens))
    }

    /// Blocks of the sequence's beginning that the pool still holds, and how many of them are idle.
    fn cached_blocks(&self, sequence: &Sequence) -> (Vec<u32>, u32) {
        let (mut hits, mut idle) = (Vec::new(), 0);
        if self.config.prefix_cache {
            // The last token is always computed: its logits are needed.
            let most = (sequence.known_tokens() - 1) / self.config.block_tokens;
            for index in 0..most {
                let key = sequence.request.content.key(index, self.config.block_tokens);
                let Some((block, free)) = (key != 0).then(|| self.pool.find(key)).flatten() else { break };
                hits.push(block);
                idle += u32::from(free);
            }
        }
        (hits, idle)
    }
}

/// What the next step will hold, and how many tokens it has left for others.
struct Plan {
    budget: u32,
    load: StepLoad,
}

impl Plan {
    fn take(&mut self, sequence: &mut Sequence, tokens: u32) {
        sequence.scheduled = tokens;
        self.budget -= tokens;
        let (prompt, drafts) = parts(sequence);
        self.load.sequences += 1;
        self.load.context_tokens += u64::from(sequence.computed);
        self.load.prompt_tokens += prompt;
        self.load.draft_tokens += drafts;
    }

    fn give_back(&mut self, sequence: &Sequence) {
        if sequence.scheduled > 0 {
            self.budget += sequence.scheduled;
            let (prompt, drafts) = parts(sequence);
            self.load.sequences -= 1;
            self.load.context_tokens -= u64::from(sequence.computed);
            self.load.prompt_tokens -= prompt;
            self.load.draft_tokens -= drafts;
        }
    }
}

/// How many of a sequence's scheduled tokens are prompt and how many are drafts.
fn parts(sequence: &Sequence) -> (u64, u64) {
    let tokens = u64::from(sequence.scheduled);
    if sequence.generated > 0 && sequence.missing() == 1 { (0, tokens - 1) } else { (tokens, 0) }
}

/// Takes the blocks that `tokens` more tokens need; false (and nothing taken) where they are not free.
fn grow(sequence: &mut Sequence, tokens: u32, config: &EngineConfig, pool: &mut BlockPool) -> bool {
    let needed = config.blocks_for(sequence.computed + tokens);
    let more = needed.saturating_sub(sequence.blocks.len() as u32);
    if more > pool.free() {
        return false;
    }
    for _ in 0..more {
        sequence.blocks.extend(pool.take());
    }
    true
}
