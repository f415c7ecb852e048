//! Rules of single players in tables: what each pattern of a row gets, all worked out in advance.

use super::others::Others;
use super::rule::Rule;
use crate::engine::tables::LeafGains;

/// A rule that gives one number to each player of a path.
pub(crate) struct ByPattern<'a, R>(pub(crate) &'a R);

impl<R: Rule> LeafGains for ByPattern<'_, R> {
    fn leaf(&self, players: &[u32], c: &[f64], gains: &mut Vec<f64>) {
        let (k, full) = (players.len(), c.len() as u64 - 1);
        gains.clear();
        gains.resize(c.len() * k, 0.0);
        let occurring = (0..).zip(c).filter(|&(_, &share)| share > 0.0);
        let patterns: Vec<(u64, f64)> = occurring.map(|(pattern, &share)| (full & !pattern, share)).collect();
        let (others, mut room) = (Others::Patterns(&patterns), R::Room::default());
        self.0.prepare(&mut room, players, &others);
        for (pattern, gains) in (0..).zip(gains.chunks_exact_mut(k.max(1))) {
            self.0.give(&mut room, &(full & !pattern), &others, gains);
        }
    }
}
