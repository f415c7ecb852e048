//! The room of `unsafe` code (except for one allocation in `memory`): it runs kernels with the widest vector
//! instructions of the machine, reads tables at positions that are known to be in range, uses two instructions for which
//! the language has no portable name, and has two loops for AVX-512 that compilers do not find.
#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
use std::sync::OnceLock;

/// Begins where a cache line begins, since a wide load across two lines takes twice as long.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(align(64))]
pub(crate) struct Aligned<T>(pub(crate) T);

impl<T> std::ops::Deref for Aligned<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> std::ops::DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// The part of some numbers that begins where a cache line begins; up to seven numbers are left out.
#[inline(always)]
pub(crate) fn aligned(numbers: &mut [f64]) -> &mut [f64] {
    let skip = numbers.as_ptr().align_offset(align_of::<Aligned<f64>>());
    // An interpreter need not tell where lines begin.
    &mut numbers[if skip <= ALIGNING { skip } else { 0 }..]
}

/// How many numbers [`aligned`] may leave out.
pub(crate) const ALIGNING: usize = align_of::<Aligned<f64>>() / size_of::<f64>() - 1;

/// A loop nest worth compiling for several instruction sets. `run` and everything it calls must be `#[inline(always)]`.
pub(crate) trait Kernel {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs a kernel compiled for the widest vector instructions that this machine has, chosen at run time.
#[inline]
pub(crate) fn widest<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt")]
        fn avx512<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if has_avx512() {
            // SAFETY: every feature the function is compiled with was just detected.
            return unsafe { avx512(kernel) };
        }
    }
    middling(kernel)
}

/// Runs a kernel that spends its time on counting bits: as [`widest`] does, but with the instruction that counts the bits
/// of a whole vector, if there is one.
#[inline]
pub(crate) fn counting<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,fma,bmi1,bmi2,popcnt")]
        fn avx512<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if has_avx512() && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: every feature the function is compiled with was just detected.
            return unsafe { avx512(kernel) };
        }
    }
    widest(kernel)
}

/// Runs a kernel that spends its time on looking up numbers one by one. It is compiled for AVX2 at most: for AVX-512,
/// compilers gather the numbers into wide vectors, which takes longer than to load one after another.
#[inline]
pub(crate) fn middling<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt")]
        fn avx2<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if has_avx2() {
            // SAFETY: every feature the function is compiled with was just detected.
            return unsafe { avx2(kernel) };
        }
    }
    kernel.run()
}

#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
#[inline(always)]
fn has_avx512() -> bool {
    // Asked for every split, so the answer is kept.
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        has_avx2()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
    })
}

#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
#[inline(always)]
fn has_avx2() -> bool {
    // Asked for every unit of tables.
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
    })
}

/// `slice[i]`. With `--cfg arborshap_checked` every such read is checked, and kernels are compiled for the baseline
/// instructions only: a twin that takes nothing on trust.
///
/// # Safety
/// `i < slice.len()`.
#[inline(always)]
unsafe fn read<T: Copy>(slice: &[T], i: usize) -> T {
    debug_assert!(i < slice.len());
    if cfg!(arborshap_checked) {
        slice[i]
    } else {
        // SAFETY: the caller's promise.
        unsafe { *slice.get_unchecked(i) }
    }
}

/// Where the numbers of each row of a block begin in a table, together with the largest of these positions.
pub(crate) struct Offsets<const R: usize> {
    each: [u32; R],
    largest: u32,
}

impl<const R: usize> Offsets<R> {
    /// Positions in a table with `width` numbers per index.
    #[inline(always)]
    pub(crate) fn new(indices: &[impl Copy + Into<u32>; R], width: u32) -> Self {
        let (mut each, mut largest) = ([0_u32; R], 0);
        for r in 0..R {
            each[r] = indices[r].into() * width;
            largest = largest.max(each[r]);
        }
        Self { each, largest }
    }
}

/// `sums[cells[c]][r] += table[offsets[r] + c]` for every cell and every row of a block.
///
/// # Panics
/// If the largest offset leads outside the table, or a cell outside the sums.
#[inline(always)]
pub(crate) fn add_looked_up<const R: usize>(sums: &mut [[f64; R]], cells: &[u32], table: &[f64], offsets: &Offsets<R>) {
    assert!(offsets.largest as usize + cells.len() <= table.len());
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    if R.is_multiple_of(4) && has_avx2() {
        assert!(cells.iter().all(|&cell| (cell as usize) < sums.len()));
        if R.is_multiple_of(8) && has_avx512() {
            // SAFETY: the features were just detected, R is a multiple of eight, every cell has sums, and no offset leads
            // outside the table.
            return unsafe { add_transposed_wide(sums, cells, table, offsets) };
        }
        // SAFETY: the features were just detected, R is a multiple of four, every cell has sums, and no offset leads
        // outside the table.
        return unsafe { add_transposed(sums, cells, table, offsets) };
    }
    for (column, &cell) in cells.iter().enumerate() {
        for (sum, &offset) in sums[cell as usize].iter_mut().zip(&offsets.each) {
            // SAFETY: `offset <= largest`, since `Offsets` is only made so, and `largest + column < table.len()`.
            *sum += unsafe { read(table, offset as usize + column) };
        }
    }
}

/// [`add_looked_up`] for four rows at a time: two numbers of a row are read by one instruction, and change places so that
/// those of one cell stand side by side.
///
/// # Safety
/// The machine has AVX2, R is a multiple of four, every cell is below `sums.len()`, and
/// `offsets.largest + cells.len() <= table.len()`.
#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt")]
#[inline(never)] // with AVX-512, compilers would gather numbers, which takes longer than to load one after another
unsafe fn add_transposed<const R: usize>(sums: &mut [[f64; R]], cells: &[u32], table: &[f64], offsets: &Offsets<R>) {
    use std::arch::x86_64::{
        __m256d, _mm_loadu_pd, _mm256_add_pd, _mm256_loadu_pd, _mm256_set_m128d, _mm256_set_pd, _mm256_storeu_pd,
        _mm256_unpackhi_pd, _mm256_unpacklo_pd,
    };
    let sums = sums.as_mut_ptr();
    // SAFETY: the caller's promise; `r + 4 <= R`, since R is a multiple of four.
    let add = |cell: u32, r: usize, numbers: __m256d| unsafe {
        let sum = sums.add(cell as usize).cast::<f64>().add(r);
        _mm256_storeu_pd(sum, _mm256_add_pd(_mm256_loadu_pd(sum), numbers));
    };
    // Two columns of four rows.
    let two = |cells: &[u32; 2], r: usize, rows: [*const f64; 4]| {
        // SAFETY: the caller's promise: two numbers can be read from each row.
        let [a, b, c, d] = rows.map(|row| unsafe { _mm_loadu_pd(row) });
        let (even, odd) = (_mm256_set_m128d(c, a), _mm256_set_m128d(d, b));
        add(cells[0], r, _mm256_unpacklo_pd(even, odd));
        add(cells[1], r, _mm256_unpackhi_pd(even, odd));
    };
    // SAFETY: the caller's promise.
    let row = |r: usize, column: usize| unsafe { table.as_ptr().add(offsets.each[r] as usize + column) };
    let (fours, rest) = cells.as_chunks::<4>();
    for (i, cells) in fours.iter().enumerate() {
        for r in (0..R).step_by(4) {
            let rows = [0, 1, 2, 3].map(|more| row(r + more, 4 * i));
            two(&[cells[0], cells[1]], r, rows);
            // SAFETY: the caller's promise: four numbers can be read from each row.
            two(&[cells[2], cells[3]], r, rows.map(|row| unsafe { row.add(2) }));
        }
    }
    if let Some(cells) = rest.first_chunk::<2>() {
        for r in (0..R).step_by(4) {
            two(cells, r, [0, 1, 2, 3].map(|more| row(r + more, 4 * fours.len())));
        }
    }
    if let ([.., cell], 1) = (rest, rest.len() % 2) {
        for r in (0..R).step_by(4) {
            // SAFETY: the caller's promise.
            let [a, b, c, d] = [0, 1, 2, 3].map(|more| unsafe { *row(r + more, cells.len() - 1) });
            add(*cell, r, _mm256_set_pd(d, c, b, a));
        }
    }
}

/// [`add_transposed`] for eight rows at a time: four numbers of a row are read by one instruction.
///
/// # Safety
/// The machine has AVX-512, R is a multiple of eight, every cell is below `sums.len()`, and
/// `offsets.largest + cells.len() <= table.len()`.
#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt")]
#[inline(never)]
unsafe fn add_transposed_wide<const R: usize>(
    sums: &mut [[f64; R]],
    cells: &[u32],
    table: &[f64],
    offsets: &Offsets<R>,
) {
    use std::arch::x86_64::{
        __m512d, _mm_loadu_pd, _mm256_castpd128_pd256, _mm256_insertf128_pd, _mm256_loadu_pd, _mm512_add_pd,
        _mm512_castpd256_pd512, _mm512_insertf64x4, _mm512_loadu_pd, _mm512_permutex2var_pd, _mm512_set_epi64,
        _mm512_set_pd, _mm512_storeu_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd,
    };
    let sums = sums.as_mut_ptr();
    // SAFETY: the caller's promise; `r + 8 <= R`, since R is a multiple of eight.
    let add = |cell: u32, r: usize, numbers: __m512d| unsafe {
        let sum = sums.add(cell as usize).cast::<f64>().add(r);
        _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), numbers));
    };
    // SAFETY: the caller's promise.
    let row = |r: usize, column: usize| unsafe { table.as_ptr().add(offsets.each[r] as usize + column) };
    // Which numbers of two vectors to take: pairs of rows, for one column.
    let (even, odd) = (_mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2));
    let (fours, rest) = cells.as_chunks::<4>();
    for (i, cells) in fours.iter().enumerate() {
        for r in (0..R).step_by(8) {
            // Four columns of two rows.
            let two = |r: usize| {
                // SAFETY: the caller's promise: four numbers can be read from each row.
                let [low, high] = [r, r + 4].map(|r| unsafe { _mm256_loadu_pd(row(r, 4 * i)) });
                _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high)
            };
            let (a, b, c, d) = (two(r), two(r + 1), two(r + 2), two(r + 3));
            let (low, more) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
            add(cells[0], r, _mm512_permutex2var_pd(low, even, more));
            add(cells[2], r, _mm512_permutex2var_pd(low, odd, more));
            let (high, more) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
            add(cells[1], r, _mm512_permutex2var_pd(high, even, more));
            add(cells[3], r, _mm512_permutex2var_pd(high, odd, more));
        }
    }
    if let Some(cells) = rest.first_chunk::<2>() {
        for r in (0..R).step_by(8) {
            // Two columns of every second row.
            let four = |r: usize| {
                // SAFETY: the caller's promise: two numbers can be read from each row.
                let [a, b, c, d] = [r, r + 2, r + 4, r + 6].map(|r| unsafe { _mm_loadu_pd(row(r, 4 * fours.len())) });
                let low = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(a), b);
                let high = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(c), d);
                _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high)
            };
            let (even, odd) = (four(r), four(r + 1));
            add(cells[0], r, _mm512_unpacklo_pd(even, odd));
            add(cells[1], r, _mm512_unpackhi_pd(even, odd));
        }
    }
    if let ([.., cell], 1) = (rest, rest.len() % 2) {
        for r in (0..R).step_by(8) {
            // SAFETY: the caller's promise.
            let [a, b, c, d, e, f, g, h] =
                [0, 1, 2, 3, 4, 5, 6, 7].map(|more| unsafe { *row(r + more, cells.len() - 1) });
            add(*cell, r, _mm512_set_pd(h, g, f, e, d, c, b, a));
        }
    }
}

/// The most outcomes that [`Outcomes::look_up`] tells apart.
pub(crate) const OUTCOMES: usize = 16;

/// A number for each of eight outcomes: one vector. A table of sixteen outcomes is two of them.
pub(crate) type Eight = Aligned<[f64; 8]>;

/// The most rows of [`Outcomes`].
pub(crate) const MOST_ROWS: usize = 64;

/// Which of the [`OUTCOMES`] each of some rows has. There are 16, 32, 48 or 64 rows.
pub(crate) struct Outcomes {
    /// The rows in which each bit of the outcome is set.
    bits: [u64; BITS],
    rows: usize,
}

/// Bits of an outcome.
const BITS: usize = OUTCOMES.trailing_zeros() as usize;

/// Factors of rows: at q, the factor of row r is `products[q][r] * (edges[q][0] + edges[q][1] * follow[r])`.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    pub(crate) products: &'a [f64],
    pub(crate) edges: &'a [[f64; 2]],
    pub(crate) follow: &'a [f64],
}

impl Outcomes {
    /// From the bits of the outcomes: for each of them, the rows in which it is set.
    #[inline(always)]
    pub(crate) fn new(bits: [u64; BITS], rows: usize) -> Self {
        assert!(rows.is_multiple_of(OUTCOMES) && rows <= MOST_ROWS);
        Self { bits, rows }
    }

    /// With o the outcome of row r: `worth[q][r] = tables[0][q][o]`, and `gains[m][r]` is the sum over q of the factor of r
    /// at q times `tables[m + 1][q][o]`. A table is `E` times eight numbers; if `E` is 1, the last bit of outcomes is not
    /// looked at.
    ///
    /// # Panics
    /// If the lengths do not agree.
    #[inline(always)]
    pub(crate) fn look_up<const M: usize, const E: usize>(
        &self,
        tables: &[Eight],
        factors: Factors<'_>,
        worth: &mut [f64],
        gains: &mut [[f64; MOST_ROWS]; M],
    ) {
        let Factors { products, edges, follow } = factors;
        let (n, rows) = (edges.len(), self.rows);
        assert!((E == 1 || E == 2) && tables.len() == (M + 1) * n * E && follow.len() == rows);
        assert!(products.len() == n * rows && worth.len() == n * rows);
        #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
        if has_avx512() {
            // SAFETY: the features were just detected, `rows` is a multiple of 16, and the lengths agree.
            return unsafe {
                if rows.is_multiple_of(32) {
                    look_up_wide::<M, E, 4>(self, tables, factors, worth, gains);
                } else {
                    look_up_wide::<M, E, 2>(self, tables, factors, worth, gains);
                }
            };
        }
        *gains = [[0.0; MOST_ROWS]; M];
        let mut each = [0; MOST_ROWS];
        for (r, outcome) in each[..rows].iter_mut().enumerate() {
            for (i, bits) in self.bits.iter().enumerate() {
                *outcome |= ((bits >> r & 1) as usize) << i;
            }
        }
        for (q, &[absent, joined]) in edges.iter().enumerate() {
            for r in 0..rows {
                let outcome = each[r] % (8 * E);
                let number = |m: usize| tables[(m * n + q) * E + outcome / 8][outcome % 8];
                worth[q * rows + r] = number(0);
                let factor = products[q * rows + r] * (absent + joined * follow[r]);
                for (m, gains) in gains.iter_mut().enumerate() {
                    gains[r] += factor * number(m + 1);
                }
            }
        }
    }
}

/// [`Outcomes::look_up`] for `8 * V` rows at a time, whose gains stay in registers. One instruction looks up eight numbers
/// in a table.
///
/// # Safety
/// The machine has AVX-512, the number of rows is a multiple of `8 * V`, and the lengths agree.
#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt")]
#[inline]
unsafe fn look_up_wide<const M: usize, const E: usize, const V: usize>(
    outcomes: &Outcomes,
    tables: &[Eight],
    factors: Factors<'_>,
    worth: &mut [f64],
    gains: &mut [[f64; MOST_ROWS]; M],
) {
    use std::arch::x86_64::{
        __m512d, __m512i, _mm512_add_pd, _mm512_loadu_pd, _mm512_mask_or_epi64, _mm512_mul_pd, _mm512_permutex2var_pd,
        _mm512_permutexvar_pd, _mm512_set1_epi64, _mm512_set1_pd, _mm512_setzero_pd, _mm512_setzero_si512,
        _mm512_storeu_pd,
    };
    let Factors { products, edges, follow } = factors;
    let (n, rows) = (edges.len(), outcomes.rows);
    for first in (0..rows).step_by(8 * V) {
        let mut outcome = [_mm512_setzero_si512(); V];
        let mut following = [_mm512_setzero_pd(); V];
        let mut sums = [[_mm512_setzero_pd(); V]; M];
        for v in 0..V {
            for (i, bits) in outcomes.bits.iter().enumerate() {
                let rows = (bits >> (first + 8 * v)) as u8;
                outcome[v] = _mm512_mask_or_epi64(outcome[v], rows, outcome[v], _mm512_set1_epi64(1 << i));
            }
            // SAFETY: the caller's promise: `first + 8 * v + 8 <= rows`.
            following[v] = unsafe { _mm512_loadu_pd(follow.as_ptr().add(first + 8 * v)) };
        }
        for q in 0..n {
            let (absent, joined) = (_mm512_set1_pd(edges[q][0]), _mm512_set1_pd(edges[q][1]));
            // SAFETY: the caller's promise: there are `(M + 1) * n` tables, each of `8 * E` numbers.
            let table = |m: usize| unsafe {
                let table = tables.as_ptr().add((m * n + q) * E).cast::<f64>();
                let low = _mm512_loadu_pd(table);
                (low, if E == 1 { low } else { _mm512_loadu_pd(table.add(8)) })
            };
            let look_up = |(low, high): (__m512d, __m512d), outcome: __m512i| {
                if E == 1 { _mm512_permutexvar_pd(outcome, low) } else { _mm512_permutex2var_pd(low, outcome, high) }
            };
            let mut factor = [_mm512_setzero_pd(); V];
            let numbers = table(0);
            for v in 0..V {
                let at = q * rows + first + 8 * v;
                // SAFETY: the caller's promise: there are `n * rows` products, and as many numbers in `worth`.
                unsafe {
                    _mm512_storeu_pd(worth.as_mut_ptr().add(at), look_up(numbers, outcome[v]));
                    let chance = _mm512_add_pd(absent, _mm512_mul_pd(joined, following[v]));
                    factor[v] = _mm512_mul_pd(_mm512_loadu_pd(products.as_ptr().add(at)), chance);
                }
            }
            for m in 0..M {
                let numbers = table(m + 1);
                for v in 0..V {
                    let gain = look_up(numbers, outcome[v]);
                    sums[m][v] = _mm512_add_pd(sums[m][v], _mm512_mul_pd(factor[v], gain));
                }
            }
        }
        for m in 0..M {
            for v in 0..V {
                // SAFETY: the caller's promise: `first + 8 * v + 8 <= rows`, which is at most `MOST_ROWS`.
                unsafe { _mm512_storeu_pd(gains[m].as_mut_ptr().add(first + 8 * v), sums[m][v]) };
            }
        }
    }
}

/// A split of two sides for some rows, at each of some nodes.
#[derive(Clone, Copy)]
pub(crate) struct TwoSides<'a> {
    pub(crate) products: &'a [f64],
    /// Of each node: the numbers a, b, c and d.
    pub(crate) edges: &'a [[f64; 4]],
    pub(crate) follow: [&'a [f64]; 2],
    /// What a side is worth to all rows at all nodes, if that is the same.
    pub(crate) leaves: [Option<f64>; 2],
    /// What the other sides are worth, by node and row.
    pub(crate) subtrees: [&'a [f64]; 2],
}

/// At each node, `out = (a + c * follow[0]) * left + (b + c * follow[1]) * right`; and `gains` is the sum over the nodes of
/// `d * product * (left - right)`. If the machine does not have AVX-512, nothing is done, and the answer is no.
///
/// Compilers can do the same, but they leave everything in memory from node to node, and loads and stores take longer
/// than all the rest.
///
/// # Panics
/// If the lengths do not agree, or the number of rows is not a multiple of 16.
#[inline(always)]
pub(crate) fn join_wide(split: TwoSides<'_>, out: &mut [f64], gains: &mut [f64]) -> bool {
    let TwoSides { products, edges, follow, leaves, subtrees } = split;
    let (rows, len) = (gains.len(), edges.len() * gains.len());
    assert!(rows.is_multiple_of(16) && follow.iter().all(|follow| follow.len() == rows));
    assert!(products.len() == len && out.len() == len);
    assert!(leaves.iter().zip(subtrees).all(|(leaf, subtree)| leaf.is_some() || subtree.len() == len));
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    if has_avx512() {
        // SAFETY: the features were just detected, the number of rows is a multiple of 16, and the lengths agree.
        unsafe {
            match (rows.is_multiple_of(32), leaves) {
                (true, [None, None]) => join_avx512::<4, false, false>(split, out, gains),
                (true, [None, _]) => join_avx512::<4, false, true>(split, out, gains),
                (true, [_, None]) => join_avx512::<4, true, false>(split, out, gains),
                (true, _) => join_avx512::<4, true, true>(split, out, gains),
                (false, [None, None]) => join_avx512::<2, false, false>(split, out, gains),
                (false, [None, _]) => join_avx512::<2, false, true>(split, out, gains),
                (false, [_, None]) => join_avx512::<2, true, false>(split, out, gains),
                (false, _) => join_avx512::<2, true, true>(split, out, gains),
            }
        }
        return true;
    }
    false
}

/// [`join_wide`] for `8 * V` rows at a time, whose gains stay in registers, and either side a leaf or not.
///
/// # Safety
/// The machine has AVX-512, the number of rows is a multiple of `8 * V`, and the lengths agree.
#[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt")]
#[inline]
unsafe fn join_avx512<const V: usize, const LEFT: bool, const RIGHT: bool>(
    split: TwoSides<'_>,
    out: &mut [f64],
    gains: &mut [f64],
) {
    use std::arch::x86_64::{
        _mm512_add_pd, _mm512_loadu_pd, _mm512_mul_pd, _mm512_set1_pd, _mm512_setzero_pd, _mm512_storeu_pd,
        _mm512_sub_pd,
    };
    let TwoSides { products, edges, follow, leaves, subtrees } = split;
    let rows = gains.len();
    let leaves = leaves.map(|leaf| leaf.unwrap_or(0.0));
    let (left_leaf, right_leaf) = (_mm512_set1_pd(leaves[0]), _mm512_set1_pd(leaves[1]));
    for first in (0..rows).step_by(8 * V) {
        let mut following = [[_mm512_setzero_pd(); V]; 2];
        let mut sums = [_mm512_setzero_pd(); V];
        for side in 0..2 {
            for v in 0..V {
                // SAFETY: the caller's promise: `first + 8 * v + 8 <= rows`.
                following[side][v] = unsafe { _mm512_loadu_pd(follow[side].as_ptr().add(first + 8 * v)) };
            }
        }
        for (q, &[a, b, c, d]) in edges.iter().enumerate() {
            let (a, b, c, d) = (_mm512_set1_pd(a), _mm512_set1_pd(b), _mm512_set1_pd(c), _mm512_set1_pd(d));
            for v in 0..V {
                let at = q * rows + first + 8 * v;
                // SAFETY: the caller's promise: `at + 8 <= edges.len() * rows`, which is how many numbers there are.
                let (product, left, right) = unsafe {
                    let left = if LEFT { left_leaf } else { _mm512_loadu_pd(subtrees[0].as_ptr().add(at)) };
                    let right = if RIGHT { right_leaf } else { _mm512_loadu_pd(subtrees[1].as_ptr().add(at)) };
                    (_mm512_loadu_pd(products.as_ptr().add(at)), left, right)
                };
                let to_left = _mm512_add_pd(a, _mm512_mul_pd(c, following[0][v]));
                let to_right = _mm512_add_pd(b, _mm512_mul_pd(c, following[1][v]));
                let joined = _mm512_add_pd(_mm512_mul_pd(to_left, left), _mm512_mul_pd(to_right, right));
                // SAFETY: the same.
                unsafe { _mm512_storeu_pd(out.as_mut_ptr().add(at), joined) };
                sums[v] = _mm512_add_pd(sums[v], _mm512_mul_pd(_mm512_mul_pd(d, product), _mm512_sub_pd(left, right)));
            }
        }
        for v in 0..V {
            // SAFETY: the caller's promise: `first + 8 * v + 8 <= rows`.
            unsafe { _mm512_storeu_pd(gains.as_mut_ptr().add(first + 8 * v), sums[v]) };
        }
    }
}

/// Bytes that come from memory together.
pub(crate) const CACHE_LINE: usize = align_of::<Aligned<u8>>();

/// Asks for the memory of `slice[i]`, if there is such an entry, so that it is there when it is read.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T], i: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(entry) = slice.get(i) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of the baseline, and changes nothing that a program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (slice, i);
}

/// One bit for each byte, which is 0 or 1.
#[inline(always)]
pub(crate) fn bits(bytes: &[u8; 64]) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri), not(arborshap_checked)))]
    {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8, _mm_slli_epi16};
        let (sixteens, _) = bytes.as_chunks::<16>();
        let mut mask = 0;
        for (i, sixteen) in sixteens.iter().enumerate() {
            // SAFETY: the instructions are part of the baseline, and the load reads the 16 bytes of the array.
            let signs = unsafe { _mm_movemask_epi8(_mm_slli_epi16::<7>(_mm_loadu_si128(sixteen.as_ptr().cast()))) };
            mask |= u64::from(signs as u16) << (16 * i);
        }
        mask
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(arborshap_checked))))]
    portable_bits(bytes)
}

/// The same without vector instructions: eight bytes become eight bits by one multiplication.
#[cfg_attr(
    all(target_arch = "x86_64", not(miri), not(arborshap_checked), not(test)),
    expect(dead_code, reason = "a twin")
)]
#[inline(always)]
fn portable_bits(bytes: &[u8; 64]) -> u64 {
    let (eights, _) = bytes.as_chunks::<8>();
    let mut mask = 0;
    for (i, &eight) in eights.iter().enumerate() {
        mask |= (u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    mask
}

/// How many of the ascending cuts are below each of the numbers; no cut is below NaN.
#[inline(always)]
pub(crate) fn count_below<T: Copy + PartialOrd, const L: usize>(cuts: &[T], x: &[T; L]) -> [u32; L] {
    let mut below = [0_u32; L];
    let mut n = cuts.len();
    if n == 0 {
        return below;
    }
    // All searches advance in step, so that every step is a few wide instructions. Each answer lies between `below` and
    // `below + n`, and `below + n <= cuts.len()` always holds.
    while n > 1 {
        let half = n / 2;
        for l in 0..L {
            debug_assert!(below[l] as usize + n <= cuts.len());
            // SAFETY: `below + half - 1 < below + n <= cuts.len()`.
            let cut = unsafe { read(cuts, below[l] as usize + half - 1) };
            below[l] += if cut < x[l] { half as u32 } else { 0 };
        }
        n -= half;
    }
    for l in 0..L {
        // SAFETY: `below + 1 <= cuts.len()`.
        let cut = unsafe { read(cuts, below[l] as usize) };
        below[l] += u32::from(cut < x[l]);
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against reads that are checked, at every column and up to the last index.
    fn looked_up<const R: usize>(width: usize, entries: usize) {
        let table: Vec<f64> = (0..width * entries).map(|i| (i * i + 1) as f64).collect();
        for step in [0, 1, 3, 7] {
            let indices: [u16; R] = std::array::from_fn(|r| ((entries - 1 + r * step) % entries) as u16);
            let offsets = Offsets::new(&indices, width as u32);
            let cells: Vec<u32> = (0..width as u32).map(|column| (column * 3 + 1) % (width as u32 + 2)).collect();
            let mut sums = vec![[0.5; R]; width + 2];
            let mut checked = sums.clone();
            add_looked_up(&mut sums, &cells, &table, &offsets);
            for (column, &cell) in cells.iter().enumerate() {
                for (sum, &index) in checked[cell as usize].iter_mut().zip(&indices) {
                    *sum += table[usize::from(index) * width + column];
                }
            }
            let bits = |sums: &[[f64; R]]| sums.as_flattened().iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&sums), bits(&checked));
        }
    }

    #[test]
    fn looked_up_as_with_checks() {
        for (width, entries) in [(1, 1), (1, 8), (3, 5), (7, 64), (10, 2)] {
            looked_up::<1>(width, entries);
            looked_up::<12>(width, entries);
            looked_up::<16>(width, entries);
            looked_up::<128>(width, entries);
        }
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn a_column_beyond_the_table_is_refused() {
        add_looked_up(&mut [[0.0; 2]; 3], &[0, 1, 2], &[1.0; 8], &Offsets::new(&[0_u16, 3], 2));
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn an_empty_table_is_refused() {
        add_looked_up(&mut [[0.0; 1]; 1], &[0], &[], &Offsets::new(&[0_u16], 1));
    }

    /// Against reads that are checked, row by row.
    fn outcomes_looked_up<const M: usize, const E: usize>(rows: usize, n: usize) {
        let number = |i: usize| ((i * 7 + 3) % 31) as f64 / 8.0 - 1.5;
        let bits = [0x0123_4567_89ab_cdef, 0xfeed_0000_beef_ffff, 0xaaaa_cccc_f0f0_ff00, 0x1357_9bdf_0246_8ace];
        let mut tables = vec![Aligned([0.0; 8]); (M + 1) * n * E];
        for (i, table) in tables.iter_mut().enumerate() {
            table.0 = std::array::from_fn(|o| number(i * 8 + o));
        }
        let looked_up = |table: usize, outcome: usize| number(table * 8 * E + outcome);
        let products: Vec<f64> = (0..n * rows).map(number).collect();
        let edges: Vec<[f64; 2]> = (0..n).map(|q| [number(q), number(q + 5)]).collect();
        let follow: Vec<f64> = (0..rows).map(|r| number(r + 2)).collect();
        let (mut worth, mut gains) = (vec![0.0; n * rows], [[1.0; MOST_ROWS]; M]);
        let factors = Factors { products: &products, edges: &edges, follow: &follow };
        Outcomes::new(bits, rows).look_up::<M, E>(&tables, factors, &mut worth, &mut gains);
        for r in 0..rows {
            let outcome = (0..4).map(|i| (bits[i] >> r & 1) as usize * (1 << i)).sum::<usize>() % (8 * E);
            let mut sums = [0.0; M];
            for q in 0..n {
                assert_eq!(worth[q * rows + r].to_bits(), looked_up(q, outcome).to_bits());
                let factor = products[q * rows + r] * (edges[q][0] + edges[q][1] * follow[r]);
                for (m, sum) in sums.iter_mut().enumerate() {
                    *sum += factor * looked_up((m + 1) * n + q, outcome);
                }
            }
            assert_eq!(gains.map(|gains| gains[r].to_bits()), sums.map(f64::to_bits));
        }
    }

    #[test]
    fn outcomes_looked_up_as_with_checks() {
        for (rows, n) in [(16, 1), (32, 6), (48, 3), (64, 16)] {
            outcomes_looked_up::<1, 1>(rows, n);
            outcomes_looked_up::<2, 1>(rows, n);
            outcomes_looked_up::<2, 2>(rows, n);
            outcomes_looked_up::<3, 1>(rows, n);
            outcomes_looked_up::<3, 2>(rows, n);
            outcomes_looked_up::<4, 2>(rows, n);
        }
    }

    #[test]
    fn bits_stand_for_their_bytes() {
        let mut state = 1_u64;
        for _ in 0..200 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let word = state ^ (state >> 29);
            let bytes: [u8; 64] = std::array::from_fn(|i| (word >> i & 1) as u8);
            assert_eq!((bits(&bytes), portable_bits(&bytes)), (word, word));
        }
    }

    #[test]
    fn counted_as_with_checks() {
        let numbers = [f64::NEG_INFINITY, -0.5, 0.0, 0.5, 3.0, 6.5, f64::INFINITY, f64::NAN];
        for n in 0..20 {
            let cuts: Vec<f64> = (0..n).map(|i| f64::from(i) / 2.0).collect();
            let checked = numbers.map(|x| cuts.iter().filter(|&&cut| cut < x).count() as u32);
            assert_eq!(count_below(&cuts, &numbers), checked, "{n} cuts");
        }
    }
}
