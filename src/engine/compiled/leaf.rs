//! A leaf and the outputs that it adds to.

use super::CompiledTree;

/// The value $v_l$ of a leaf, and the outputs it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a> {
    values: &'a [f64],
    first_output: usize,
}

impl<'a> Leaf<'a> {
    #[inline]
    pub(crate) fn of(tree: &'a CompiledTree, leaf: usize) -> Self {
        Self { values: &tree.values[leaf * tree.width..][..tree.width], first_output: tree.output.first() }
    }

    pub(crate) fn values(self) -> &'a [f64] {
        self.values
    }

    /// The output that the first of its values adds to.
    pub(crate) fn first_output(self) -> usize {
        self.first_output
    }

    /// Adds `coefficient * v` to a cell that holds `n_outputs` numbers.
    #[inline(always)]
    pub(crate) fn add(self, coefficient: f64, cells: &mut [f64], cell: usize, n_outputs: usize) {
        self.add_at(coefficient, cells, cell * n_outputs + self.first_output);
    }

    /// Adds `coefficient * v` to the numbers from `start` on.
    #[inline(always)]
    pub(crate) fn add_at(self, coefficient: f64, numbers: &mut [f64], start: usize) {
        if let [value] = self.values {
            numbers[start] += coefficient * value;
        } else {
            let numbers = &mut numbers[start..][..self.values.len()];
            numbers.iter_mut().zip(self.values).for_each(|(number, value)| *number += coefficient * value);
        }
    }
}
