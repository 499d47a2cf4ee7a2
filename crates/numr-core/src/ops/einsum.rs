//! Products over named axes: `einsum`, and what is one of its cases.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::prim::{AxisList, View};
use crate::runtime::Runtime;
use crate::shape::{Shape, axis, broadcast};
use crate::tensor::Tensor;
use smallvec::SmallVec;

/// An axis by name: a letter of the equation, or one of those that `...` stands for, counted from the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Label {
    Dots(usize),
    Letter(char),
}

type Labels = SmallVec<[Label; 8]>;

/// A factor and the names of its axes, none of them twice.
#[derive(Clone)]
struct Factor<R: Runtime> {
    x: Tensor<R>,
    labels: Labels,
}

/// An operand or result of an equation: letters before and after its dots, if it has any.
struct Term {
    before: Vec<char>,
    after: Option<Vec<char>>,
}

impl Term {
    fn parse(text: &str) -> Result<Term> {
        let letters = |s: &str| match s.chars().find(|c| !c.is_ascii_alphabetic()) {
            Some(c) => Err(refuse(format!("`{c}` is no letter, and `...` comes once a term"))),
            None => Ok(s.chars().collect()),
        };
        match text.split_once("...") {
            Some((before, after)) => Ok(Term { before: letters(before)?, after: Some(letters(after)?) }),
            None => Ok(Term { before: letters(text)?, after: None }),
        }
    }

    /// The names of its axes where the dots stand for `dots` of them.
    fn labels(&self, dots: usize) -> Labels {
        let dots = self.after.iter().flat_map(|_| (0..dots).rev().map(Label::Dots));
        let letters = |s: &[char]| s.iter().map(|&c| Label::Letter(c)).collect::<Labels>();
        letters(&self.before).into_iter().chain(dots).chain(letters(self.after.as_deref().unwrap_or(&[]))).collect()
    }

    fn letters(&self) -> impl Iterator<Item = char> {
        self.before.iter().chain(self.after.iter().flatten()).copied()
    }
}

fn refuse(reason: impl Into<String>) -> Error {
    Error::argument("einsum", "equation", reason.into())
}

impl<R: Runtime> Factor<R> {
    /// With axes that share a name made one, their diagonal.
    fn new(x: &Tensor<R>, labels: Labels) -> Result<Factor<R>> {
        let mut f = Factor { x: x.clone(), labels };
        let twice = |labels: &Labels| {
            (0..labels.len()).find_map(|b| Some((labels[..b].iter().position(|l| *l == labels[b])?, b)))
        };
        while let Some((a, b)) = twice(&f.labels) {
            if f.x.shape()[a] != f.x.shape()[b] {
                return Err(Error::shape("einsum", "one size for axes of one name", &[x.shape()]));
            }
            f.x = f.x.view_as(View::Diagonal { offset: 0, a, b })?;
            let label = f.labels.remove(b);
            f.labels.remove(a);
            f.labels.push(label);
        }
        Ok(f)
    }

    fn size(&self, label: Label) -> usize {
        self.labels.iter().position(|l| *l == label).map_or(1, |k| self.x.shape()[k])
    }

    /// Summed over the axes that `keep` does not want.
    fn kept(mut self, keep: impl Fn(Label) -> bool) -> Result<Factor<R>> {
        let axes: AxisList = (0..self.labels.len()).filter(|&k| !keep(self.labels[k])).collect();
        if !axes.is_empty() {
            let dtype = self.x.dtype();
            self.x = self.x.sum(&axes[..], false)?.cast(dtype)?;
            self.labels.retain(|l| keep(*l));
        }
        Ok(self)
    }

    /// A view with these axes, in this order; those that it lacks have size 1.
    fn arranged(&self, labels: &[Label]) -> Result<Tensor<R>> {
        let places: AxisList = labels.iter().filter_map(|l| self.labels.iter().position(|m| m == l)).collect();
        let shape: Shape = labels.iter().map(|&l| self.size(l)).collect();
        self.x.permute(&places[..])?.reshape(&shape)
    }

    /// The product with another, summed over the axes that `keep` does not want: one matrix product.
    fn times(self, other: Factor<R>, keep: &impl Fn(Label) -> bool) -> Result<Factor<R>> {
        // What only one has and nobody wants is summed first.
        let a = self.clone().kept(|l| keep(l) || other.labels.contains(&l))?;
        let b = other.kept(|l| keep(l) || a.labels.contains(&l))?;
        let sort = |of: &Factor<R>, with: &Factor<R>, shared: bool, wanted: bool| -> Labels {
            of.labels.iter().copied().filter(|&l| with.labels.contains(&l) == shared && keep(l) == wanted).collect()
        };
        let (batch, inner) = (sort(&a, &b, true, true), sort(&a, &b, true, false));
        let (rows, columns) = (sort(&a, &b, false, true), sort(&b, &a, false, true));
        let sizes = |of: &Factor<R>, labels: &[Label]| labels.iter().map(|&l| of.size(l)).collect::<Shape>();
        let count = |s: &Shape| s.iter().fold(1usize, |n, &d| n.saturating_mul(d));
        // Sizes of 1 broadcast against the other's.
        let common =
            |labels: &[Label]| -> Result<Shape> { broadcast("einsum", &[&sizes(&a, labels), &sizes(&b, labels)]) };
        let (batch_sizes, inner_sizes) = (common(&batch)?, common(&inner)?);
        let matrix = |of: &Factor<R>, order: [&[Label]; 2], own: &[Label], left: bool| -> Result<Tensor<R>> {
            let own_sizes = sizes(of, own);
            let wide: Shape = match left {
                true => batch_sizes.iter().chain(&own_sizes).chain(&inner_sizes).copied().collect(),
                false => batch_sizes.iter().chain(&inner_sizes).chain(&own_sizes).copied().collect(),
            };
            let x = of.arranged(&[&batch[..], order[0], order[1]].concat())?.broadcast_to(&wide)?;
            let (own, inner) = (count(&own_sizes), count(&inner_sizes));
            let flat = if left { [own, inner] } else { [inner, own] };
            x.reshape(&[&batch_sizes[..], &flat].concat())
        };
        let product =
            matrix(&a, [&rows, &inner], &rows, true)?.matmul(&matrix(&b, [&inner, &columns], &columns, false)?)?;
        let shape = [&batch_sizes[..], &sizes(&a, &rows), &sizes(&b, &columns)].concat();
        Ok(Factor { x: product.reshape(&shape)?, labels: [&batch[..], &rows, &columns].concat().into() })
    }
}

impl<R: Runtime> Tensor<R> {
    /// Sum of products over named axes, as `numpy.einsum`: `"ij,jk->ik"` is a matrix product.
    ///
    /// A letter names an axis. A letter that the result lacks is summed over, one twice in a term takes the diagonal, and
    /// `...` stands for axes that broadcast. Without `->` the result has the dots and, in alphabetical order, the letters
    /// that occur once. Sizes of 1 broadcast. More than two operands are multiplied pair by pair, the pair that
    /// makes the smallest product first; each is one matrix product. **DType**: operands promote; sums keep the dtype.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 2, 3, 4], &[2, 2], &device);
    /// assert_eq!(Tensor::einsum("ij,jk", &[&x, &x])?.to_vec::<i32>(), [7, 10, 15, 22]);
    /// assert_eq!(Tensor::einsum("ii->i", &[&x])?.to_vec::<i32>(), [1, 4]);
    /// assert_eq!(Tensor::einsum("ij,ij->", &[&x, &x])?.item::<i32>()?, 30);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Error::Argument` for an equation that is none or does not fit the operands' axes; `Error::Shape` and
    /// `Error::Broadcast` for axes of one name and different sizes.
    pub fn einsum(equation: &str, operands: &[&Tensor<R>]) -> Result<Tensor<R>> {
        let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = text.split_once("->").map_or((&text[..], None), |(a, b)| (a, Some(b)));
        let terms = left.split(',').map(Term::parse).collect::<Result<Vec<_>>>()?;
        if terms.len() != operands.len() {
            return Err(refuse(format!("{} terms for {} operands", terms.len(), operands.len())));
        }
        let (mut factors, mut most) = (vec![], 0);
        for (term, x) in terms.iter().zip(Tensor::promoted(operands)?) {
            let named = term.letters().count();
            let dots = x.ndim().checked_sub(named).filter(|&n| n == 0 || term.after.is_some());
            let dots = dots.ok_or_else(|| refuse(format!("{named} letters for the axes of {:?}", x.shape())))?;
            most = most.max(dots);
            factors.push(Factor::new(&x, term.labels(dots))?);
        }
        let times = |c: char| terms.iter().flat_map(Term::letters).filter(|&d| d == c).count();
        let result: Labels = match right {
            Some(text) => {
                let term = Term::parse(text)?;
                let letters: Vec<char> = term.letters().collect();
                if let Some(c) =
                    letters.iter().find(|&&c| times(c) == 0 || letters.iter().filter(|&&d| d == c).count() > 1)
                {
                    return Err(refuse(format!("`{c}` of the result must be in an operand, and once in the result")));
                }
                term.labels(most)
            }
            None => {
                let mut letters: Vec<char> = terms.iter().flat_map(Term::letters).filter(|&c| times(c) == 1).collect();
                letters.sort_unstable();
                Term { before: vec![], after: Some(letters) }.labels(most)
            }
        };
        // Sizes of axes of one name must fit together, even where no two of them meet.
        for label in factors.iter().flat_map(|f| f.labels.clone()).collect::<Vec<_>>() {
            let sizes: SmallVec<[Shape; 4]> = factors.iter().map(|f| Shape::from([f.size(label)])).collect();
            broadcast("einsum", &sizes.iter().map(|s| &s[..]).collect::<Vec<_>>())?;
        }
        while factors.len() > 1 {
            let pairs = (1..factors.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
            let cost = |&(a, b): &(usize, usize)| {
                let mut labels = [&factors[a].labels[..], &factors[b].labels].concat();
                labels.sort_unstable();
                labels.dedup();
                labels.iter().map(|&l| factors[a].size(l).max(factors[b].size(l)) as f64).product::<f64>()
            };
            let best = pairs.min_by(|p, q| cost(p).total_cmp(&cost(q)));
            let (a, b) = best.unwrap_or((0, 1));
            let (other, first) = (factors.remove(b), factors.remove(a));
            let keep = |l: Label| result.contains(&l) || factors.iter().any(|f| f.labels.contains(&l));
            let product = first.times(other, &keep)?;
            factors.insert(a.min(factors.len()), product);
        }
        let Some(last) = factors.pop() else { return Err(refuse("an operand at least is needed")) };
        last.kept(|l| result.contains(&l))?.arranged(&result)
    }

    /// Sum of products over axes `own[k]` of this tensor and `others[k]` of the other; what remains of this, then of the
    /// other.
    ///
    /// # Errors
    /// `Error::Argument` for lists of different lengths or an axis twice, `Error::Axis`, `Error::Shape` for axes of
    /// different sizes.
    pub fn tensordot(&self, other: &Tensor<R>, own: &[isize], others: &[isize]) -> Result<Tensor<R>> {
        let op = "tensordot";
        let find =
            |x: &Tensor<R>, list: &[isize]| list.iter().map(|&d| axis(op, d, x.ndim())).collect::<Result<AxisList>>();
        let (a, b) = (find(self, own)?, find(other, others)?);
        let twice = |list: &AxisList| (1..list.len()).any(|k| list[..k].contains(&list[k]));
        if a.len() != b.len() || twice(&a) || twice(&b) {
            return Err(Error::argument(op, "axes", format!("{own:?} and {others:?} must pair different axes")));
        }
        if a.iter().zip(&b).any(|(&i, &j)| self.shape()[i] != other.shape()[j]) {
            return Err(Error::shape(
                op,
                format!("equal sizes of axes {own:?} and {others:?}"),
                &[self.shape(), other.shape()],
            ));
        }
        let rest = |x: &Tensor<R>, list: &AxisList| (0..x.ndim()).filter(|k| !list.contains(k)).collect::<AxisList>();
        let (rows, columns) = (rest(self, &a), rest(other, &b));
        let sizes = |x: &Tensor<R>, list: &AxisList| list.iter().map(|&k| x.shape()[k]).collect::<Vec<_>>();
        let count = |s: Vec<usize>| s.into_iter().fold(1usize, usize::saturating_mul);
        let [m, k, n] = [sizes(self, &rows), sizes(self, &a), sizes(other, &columns)].map(count);
        let left = self.permute(&[&rows[..], &a].concat()[..])?.reshape(&[m, k])?;
        let right = other.permute(&[&b[..], &columns].concat()[..])?.reshape(&[k, n])?;
        left.matmul(&right)?.reshape(&[sizes(self, &rows), sizes(other, &columns)].concat())
    }

    /// Kronecker product: axis k has the sizes' product, element `[i·b + j]` is `x[i]·y[j]`.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// let x = Tensor::<CpuRuntime>::from_slice(&[1, 10], &[2], &device);
    /// let y = Tensor::from_slice(&[1, 2, 3], &[3], &device);
    /// assert_eq!(x.kron(&y)?.to_vec::<i32>(), [1, 2, 3, 10, 20, 30]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mul`]; `Error::Argument` for a size that overflows.
    pub fn kron(&self, other: &Tensor<R>) -> Result<Tensor<R>> {
        let n = self.ndim().max(other.ndim());
        let padded = |x: &Tensor<R>| -> Shape {
            std::iter::repeat_n(1, n - x.ndim()).chain(x.shape().iter().copied()).collect()
        };
        let (a, b) = (padded(self), padded(other));
        let apart =
            |s: &Shape, first: bool| -> Shape { s.iter().flat_map(|&d| if first { [d, 1] } else { [1, d] }).collect() };
        let to = a.iter().zip(&*b).map(|(&x, &y)| x.checked_mul(y)).collect::<Option<Shape>>();
        let to = to.ok_or_else(|| Error::argument("kron", "operands", "the size overflows"))?;
        self.reshape(&apart(&a, true))?.mul(&other.reshape(&apart(&b, false))?)?.reshape(&to)
    }

    /// Column by column Kronecker product, `[m, k]` and `[n, k]` to `[m·n, k]`.
    ///
    /// # Errors
    /// `Error::Shape` unless both are matrices with as many columns.
    pub fn khatri_rao(&self, other: &Tensor<R>) -> Result<Tensor<R>> {
        let (&[m, k], &[n, columns]) = (self.shape(), other.shape()) else {
            return Err(Error::shape("khatri_rao", "two matrices", &[self.shape(), other.shape()]));
        };
        if k != columns {
            return Err(Error::shape("khatri_rao", "as many columns", &[self.shape(), other.shape()]));
        }
        self.unsqueeze(1)?.mul(&other.unsqueeze(0)?)?.reshape(&[m.saturating_mul(n), k])
    }

    /// Σ over the last axis of both, as `numpy.inner`: `[.., k]` and `[.., k]`; a scalar multiplies.
    ///
    /// # Errors
    /// As [`Tensor::tensordot`].
    pub fn inner(&self, other: &Tensor<R>) -> Result<Tensor<R>> {
        if self.ndim() == 0 || other.ndim() == 0 { self.mul(other) } else { self.tensordot(other, &[-1], &[-1]) }
    }

    /// Σ conj(x)·y along an axis; the others broadcast.
    ///
    /// # Errors
    /// As [`Tensor::mul`]; `Error::Axis`.
    pub fn vecdot(&self, other: &Tensor<R>, dim: isize) -> Result<Tensor<R>> {
        let product = self.conj()?.mul(other)?;
        product.sum(dim, false)?.cast(product.dtype())
    }

    /// Σ conj(x)·y of two vectors.
    ///
    /// # Errors
    /// As [`Tensor::dot`].
    pub fn vdot(&self, other: &Tensor<R>) -> Result<Tensor<R>> {
        self.conj()?.dot(other)
    }

    /// The product of several matrices in the order that takes the fewest multiplications; the first may be a row and
    /// the last a column.
    ///
    /// # Errors
    /// `Error::Argument` for no matrix; as [`Tensor::matmul`].
    pub fn multi_dot(matrices: &[&Tensor<R>]) -> Result<Tensor<R>> {
        let n = matrices.len();
        if n == 0 {
            return Err(Error::argument("multi_dot", "matrices", "at least one is needed"));
        }
        let rows = |x: &Tensor<R>| if x.ndim() < 2 { 1 } else { x.shape()[x.ndim() - 2] };
        let mut sizes: Vec<f64> = matrices.iter().map(|x| rows(x) as f64).collect();
        if matrices[0].ndim() > 1 && n > 1 && matrices[n - 1].ndim() == 1 {
            sizes[n - 1] = matrices[n - 1].numel() as f64;
        }
        let last = matrices[n - 1];
        sizes.push(if last.ndim() == 1 && n > 1 { 1.0 } else { last.shape().last().map_or(1.0, |&d| d as f64) });
        // least[i][j]: the cost of matrices i..=j, and where to cut them.
        let mut least = vec![vec![(0.0, 0); n]; n];
        for length in 1..n {
            for i in 0..n - length {
                let j = i + length;
                let cuts =
                    (i..j).map(|k| (least[i][k].0 + least[k + 1][j].0 + sizes[i] * sizes[k + 1] * sizes[j + 1], k));
                least[i][j] = cuts.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, i));
            }
        }
        fn product<R: Runtime>(m: &[&Tensor<R>], least: &[Vec<(f64, usize)>], i: usize, j: usize) -> Result<Tensor<R>> {
            if i == j {
                return Ok(m[i].clone());
            }
            let cut = least[i][j].1;
            product(m, least, i, cut)?.matmul(&product(m, least, cut + 1, j)?)
        }
        product(matrices, &least, 0, n - 1)
    }

    /// A square matrix to the power `n`, by squaring; the identity for 0.
    ///
    /// # Errors
    /// `Error::Shape` unless the last two axes are equal.
    pub fn matrix_power(&self, mut n: u32) -> Result<Tensor<R>> {
        let &[.., rows, columns] = self.shape() else {
            return Err(Error::shape("matrix_power", "[.., n, n]", &[self.shape()]));
        };
        if rows != columns {
            return Err(Error::shape("matrix_power", "[.., n, n]", &[self.shape()]));
        }
        let (mut power, mut result) = (self.clone(), None::<Tensor<R>>);
        while n > 0 {
            if n & 1 == 1 {
                result = Some(result.map_or(Ok(power.clone()), |r| r.matmul(&power))?);
            }
            n >>= 1;
            if n > 0 {
                power = power.matmul(&power)?;
            }
        }
        match result {
            Some(result) => Ok(result),
            None => Tensor::try_eye(rows, None, self.dtype(), self.device())?.broadcast_to(self.shape()),
        }
    }

    /// Cross product of vectors of three elements along an axis; the others broadcast.
    ///
    /// # Errors
    /// `Error::Axis`; `Error::Shape` for an axis of another size; as [`Tensor::mul`].
    pub fn cross(&self, other: &Tensor<R>, dim: isize) -> Result<Tensor<R>> {
        let both = Tensor::broadcast_together(&[self, other])?;
        let at = axis("cross", dim, both[0].ndim())?;
        if both[0].shape()[at] != 3 {
            return Err(Error::shape("cross", "three elements along the axis", &[self.shape(), other.shape()]));
        }
        let turned = |x: &Tensor<R>, by| x.roll(by, at as isize);
        let (a, b) = (&both[0], &both[1]);
        turned(a, -1)?.mul(&turned(b, -2)?)?.sub(&turned(a, -2)?.mul(&turned(b, -1)?)?)
    }

    /// Product over a semiring, C\[i, j\] = ⊕ₖ A\[i, k\] ⊗ B\[k, j\]. All products are in memory at once, m·k·n of them.
    ///
    /// ```
    /// # use numr_core::{DType, Tensor};
    /// # use numr_cpu::{CpuDevice, CpuRuntime};
    /// # let device = CpuDevice::new();
    /// use numr_core::ops::einsum::Semiring;
    /// let roads = Tensor::<CpuRuntime>::from_slice(&[0.0, 3.0, f64::INFINITY, 0.0], &[2, 2], &device);
    /// let two_steps = roads.semiring_matmul(&roads, Semiring::MinPlus)?;
    /// assert_eq!(two_steps.to_vec::<f64>(), [0.0, 3.0, f64::INFINITY, 0.0]);
    /// # Ok::<(), numr_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul`]; `Error::DType` for an order of complex numbers.
    pub fn semiring_matmul(&self, other: &Tensor<R>, semiring: Semiring) -> Result<Tensor<R>> {
        let (a, b) = (self.shape(), other.shape());
        if a.len() < 2 || b.len() < 2 || a[a.len() - 1] != b[b.len() - 2] {
            return Err(Error::shape("semiring_matmul", "[.., m, k] and [.., k, n]", &[a, b]));
        }
        let (x, y) = (self.unsqueeze(-1)?, other.unsqueeze(-3)?);
        match semiring {
            Semiring::MinPlus => x.add(&y)?.min(-2, false),
            Semiring::MaxPlus => x.add(&y)?.max(-2, false),
            Semiring::PlusMax => x.maximum(&y)?.sum(-2, false),
            Semiring::MaxMin => x.minimum(&y)?.max(-2, false),
            Semiring::MinMax => x.maximum(&y)?.min(-2, false),
            Semiring::OrAnd => {
                x.logical_and(&y)?.any(-2, false)?.cast(if self.dtype().is_bool() { DType::Bool } else { self.dtype() })
            }
        }
    }
}

/// What adds and what multiplies in [`Tensor::semiring_matmul`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semiring {
    /// Least of sums: shortest paths.
    MinPlus,
    /// Largest of sums: longest paths.
    MaxPlus,
    /// Largest of the smaller: widest paths.
    MaxMin,
    /// Smallest of the larger.
    MinMax,
    /// Is any pair true? Reachability.
    OrAnd,
    /// Sum of the larger.
    PlusMax,
}
