//! Cases that ask for derivatives, in every way there is to get them.

use numr_autograd::{Dual, Tape, constant, dual, gradients, gradients_recorded, jvp_many, leaf, tangent, vjp_many};
use numr_core::{Error, Result, Runtime, Tensor};

use super::call::{Given, Stop};
use super::case::{Case, Entry, Kind, Role};
use super::data::Host;
use super::report::Verdict;
use super::run::{self, Arrangement, download, function, operands};

type Answer<T> = std::result::Result<T, Stop>;

/// What a case of derivatives is made of, on the device.
struct Problem<'a, R: Runtime> {
    case: &'a Case,
    device: &'a R::Device,
    given: Vec<Given<R>>,
    /// Places in `given` of the variables that derivatives are asked for, in the order of the case's results.
    variables: Vec<usize>,
    /// Places of the results that count, and their cotangents.
    cotangents: Vec<(usize, Tensor<R>)>,
    /// A tangent for each operand, if it has one.
    tangents: Vec<Option<Tensor<R>>>,
}

impl<'a, R: Runtime> Problem<'a, R> {
    fn new(case: &'a Case, device: &'a R::Device) -> Answer<Self> {
        let strange = |name: &str| Stop::NotMapped(format!("no operand or result {name}"));
        let given = operands::<R>(case, Arrangement::Stored, device)?;
        let place = |name: &str| given.iter().position(|g| g.name == name).ok_or_else(|| strange(name));
        let upload = |e: &Entry| run::upload::<R>(&e.host, Arrangement::Stored, device);
        let wanted = case.outputs.iter().filter_map(|e| e.name.split_once('.'));
        let variables = match case.kind {
            Kind::Jvp => Vec::new(),
            _ => wanted.map(|(_, name)| place(name)).collect::<Answer<_>>()?,
        };
        let mut cotangents = Vec::new();
        let mut tangents: Vec<Option<Tensor<R>>> = given.iter().map(|_| None).collect();
        for entry in &case.inputs {
            let of = entry.of.as_deref().unwrap_or("");
            match entry.role {
                Role::Cotangent => cotangents.push((result_place(of).ok_or_else(|| strange(of))?, upload(entry)?)),
                Role::Tangent => tangents[place(of)?] = Some(upload(entry)?),
                _ => {}
            }
        }
        Ok(Problem { case, device, given, variables, cotangents, tangents })
    }

    /// The tangents of the operands that have one, with the operands' places.
    fn directions(&self) -> (Vec<usize>, Vec<Tensor<R>>) {
        let each = self.tangents.iter().enumerate().filter_map(|(i, t)| Some((i, t.clone()?)));
        each.unzip()
    }

    /// Reverse mode.
    fn gradient(&self) -> Answer<Vec<Tensor<R>>> {
        let xs: Vec<Tensor<R>> = self.variables.iter().map(|&i| self.given[i].tensor.clone()).collect();
        let mut stop = None;
        let f = |ts: &[Tensor<Tape<R>>]| {
            let lifted = lift(&self.given, &self.variables, ts, |x| Ok(constant(x)))?;
            let results = caught(function(self.case, &lifted, self.device), &mut stop)?;
            self.cotangents.iter().map(|(k, _)| nth(&results, *k)).collect()
        };
        let pulled = vjp_many(f, &xs);
        let (_, back) = pulled.map_err(|e| stop.unwrap_or(Stop::Error(e)))?;
        Ok(back.call(&self.cotangents.iter().map(|(_, v)| v.clone()).collect::<Vec<_>>())?)
    }

    /// Forward mode: the derivatives of the results that the case lists.
    fn forward(&self) -> Answer<Vec<Tensor<R>>> {
        let (places, tangents) = self.directions();
        let xs: Vec<Tensor<R>> = places.iter().map(|&i| self.given[i].tensor.clone()).collect();
        let wanted = self.case.outputs.iter().filter_map(|e| result_place(e.name.split_once('.')?.1));
        let wanted: Vec<usize> = wanted.collect();
        let mut stop = None;
        let f = |ts: &[Tensor<Dual<R>>]| {
            let lifted = lift(&self.given, &places, ts, |x| dual(x, None))?;
            let results = caught(function(self.case, &lifted, self.device), &mut stop)?;
            wanted.iter().map(|&k| nth(&results, k)).collect()
        };
        let pushed = jvp_many(f, &xs, &tangents);
        Ok(pushed.map_err(|e| stop.unwrap_or(Stop::Error(e)))?.1)
    }

    /// Reverse over reverse, `order` times: the gradient of `u .` the gradient and so on, recorded on one tape.
    fn repeated(&self, order: usize) -> Answer<Vec<Tensor<R>>> {
        let leaves: Vec<Tensor<Tape<R>>> = self.variables.iter().map(|&i| leaf(&self.given[i].tensor)).collect();
        let lifted = lift(&self.given, &self.variables, &leaves, |x| Ok(constant(x)))?;
        let results = function(self.case, &lifted, self.device)?;
        let weighted = |(k, v): &(usize, Tensor<R>)| nth(&results, *k)?.mul(&constant(v));
        let mut scalar = total(&leaves, self.cotangents.iter().map(weighted))?;
        for _ in 1..order {
            let slopes = gradients_recorded(&scalar)?;
            let along =
                |(x, &i): (&Tensor<Tape<R>>, &usize)| Some(slopes.get(x)?.mul(&constant(self.tangents[i].as_ref()?)));
            scalar = total(&leaves, leaves.iter().zip(&self.variables).filter_map(along))?;
        }
        let slopes = gradients(&scalar)?;
        let slope = |x| slopes.get(x).cloned().ok_or_else(|| Error::grad("golden", "a variable has no gradient"));
        Ok(leaves.iter().map(slope).collect::<Result<_>>()?)
    }
}

/// Forward over reverse: the derivative of the gradient along the tangents.
fn mixed<R: Runtime>(p: &Problem<'_, R>) -> Answer<Vec<Tensor<R>>> {
    let with_tangent = |(g, t): (&Given<R>, &Option<Tensor<R>>)| {
        Ok(Given { name: g.name.clone(), slot: g.slot, tensor: dual(&g.tensor, t.as_ref())? })
    };
    let still = |(k, v): &(usize, Tensor<R>)| Ok((*k, dual(v, None)?));
    let lifted = Problem::<Dual<R>> {
        case: p.case,
        device: p.device,
        given: p.given.iter().zip(&p.tangents).map(with_tangent).collect::<Result<_>>()?,
        variables: p.variables.clone(),
        cotangents: p.cotangents.iter().map(still).collect::<Result<_>>()?,
        tangents: Vec::new(),
    };
    let slopes = lifted.gradient()?;
    let pairs = slopes.iter().zip(&p.variables);
    let part = |(g, &i): (&Tensor<Dual<R>>, &usize)| match tangent(g) {
        Some(t) => Ok(t.clone()),
        None => p.given[i].tensor.zeros_like(),
    };
    Ok(pairs.map(part).collect::<Result<_>>()?)
}

/// The operands on a decorated runtime: `variables` are replaced by `ts`, the others by constants.
fn lift<R: Runtime, S: Runtime>(
    given: &[Given<R>],
    variables: &[usize],
    ts: &[Tensor<S>],
    still: impl Fn(&Tensor<R>) -> Result<Tensor<S>>,
) -> Result<Vec<Given<S>>> {
    let each = given.iter().enumerate().map(|(i, g)| {
        let tensor = match variables.iter().position(|&v| v == i) {
            Some(k) => ts[k].clone(),
            None => still(&g.tensor)?,
        };
        Ok(Given { name: g.name.clone(), slot: g.slot, tensor })
    });
    each.collect()
}

/// The error of a stopped call; what is not an error is put aside.
fn caught<T>(answer: Answer<T>, stop: &mut Option<Stop>) -> Result<T> {
    answer.map_err(|s| match s {
        Stop::Error(e) => e,
        other => {
            *stop = Some(other);
            Error::grad("golden", "not mapped")
        }
    })
}

fn nth<R: Runtime>(results: &[Tensor<R>], k: usize) -> Result<Tensor<R>> {
    results.get(k).cloned().ok_or_else(|| Error::grad("golden", format!("no result {k}")))
}

/// `oK` is result K.
fn result_place(name: &str) -> Option<usize> {
    name.strip_prefix('o')?.parse().ok()
}

/// The sum of all elements of all parts, and nothing of each variable, so that the sum depends on them all.
fn total<R: Runtime>(variables: &[Tensor<R>], parts: impl Iterator<Item = Result<Tensor<R>>>) -> Result<Tensor<R>> {
    let nothing = variables.iter().map(|x| x.mul(0.0));
    let all = nothing.chain(parts).map(|part| part?.sum(.., false)).collect::<Result<Vec<_>>>()?;
    let [first, rest @ ..] = &all[..] else { return Err(Error::grad("golden", "no variable")) };
    rest.iter().try_fold(first.clone(), |sum, part| sum.add(part))
}

/// The verdict on a case of derivatives: every way must agree with what is expected.
pub(super) fn verdict<R: Runtime>(case: &Case, device: &R::Device) -> Verdict {
    type Way<R> = fn(&Problem<'_, R>) -> Answer<Vec<Tensor<R>>>;
    let ways: &[(&str, Way<R>)] = match case.kind {
        Kind::Grad => &[("reverse", |p| p.gradient()), ("recorded", |p| p.repeated(1))],
        Kind::Jvp => &[("forward", |p| p.forward())],
        Kind::Hvp => &[("reverse over reverse", |p| p.repeated(2)), ("forward over reverse", mixed)],
        _ => &[("reverse over reverse over reverse", |p| p.repeated(3))],
    };
    for (name, way) in ways {
        let answer = || -> Answer<Vec<Host>> {
            let problem = Problem::<R>::new(case, device)?;
            Ok(way(&problem)?.iter().map(download).collect::<Result<_>>()?)
        };
        match run::verdict(case, answer) {
            Verdict::Passed => {}
            Verdict::Failed(why) => return Verdict::Failed(format!("{name}: {why}")),
            other => return other,
        }
    }
    Verdict::Passed
}
