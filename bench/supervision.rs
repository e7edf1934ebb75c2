//! What supervision costs beside plain actix in the same run: per message, per restart, per child. Prints figures and
//! ratios; `cargo bench --bench supervision`.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing better to do than to end")]

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, Addr, Arbiter, Context, Handler, Message, MessageResult};
use actix_rt::System;
use feedwarden::supervision::{
    ChildSpec, Environment, Group, GroupSettings, Inbox, Intensity, Root, RootHandle, SupervisorSpec, Thread,
};

const ROUNDS: usize = 15;
const MESSAGES: u32 = 200_000;
/// How many messages are queued before the actor runs.
const BURST: u32 = 200;
const RESTARTS: usize = 5_000;
const CHILDREN: usize = 100_000;

fn main() {
    System::new().block_on(async {
        println!("| per message | plain | supervised | ratio |\n|---|---|---|---|");
        let plain = Counter(0).start();
        let supervised = Tree::start(None).await;
        compare("do_send, same thread", &plain, &supervised.address, burst).await;
        compare("send, same thread", &plain, &supervised.address, one_by_one).await;
        let arbiter = Arbiter::new();
        let plain = Counter::start_in_arbiter(&arbiter.handle(), |_| Counter(0));
        let apart = Tree::start(Some(Thread::new("apart"))).await;
        compare("send, other thread", &plain, &apart.address, one_by_one).await;
        println!();
        restarts(&supervised.address).await;
        children(&supervised).await;
    });
}

/// Counts what it is sent.
struct Counter(u64);

impl Actor for Counter {
    type Context = Context<Counter>;
}

struct Add(u64);

impl Message for Add {
    type Result = u64;
}

impl Handler<Add> for Counter {
    type Result = MessageResult<Add>;

    fn handle(&mut self, add: Add, _: &mut Context<Counter>) -> MessageResult<Add> {
        self.0 += add.0;
        MessageResult(self.0)
    }
}

struct Crash;

impl Message for Crash {
    type Result = ();
}

impl Handler<Crash> for Counter {
    type Result = ();

    fn handle(&mut self, _: Crash, _: &mut Context<Counter>) {
        panic!("as asked");
    }
}

/// The machine's clock, and dice that do not matter here.
struct Machine(Instant);

impl Environment for Machine {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn roll(&self) -> f64 {
        0.5
    }
}

/// A root with one counter and an empty group.
struct Tree {
    address: Addr<Counter>,
    group: Group,
    handle: RootHandle,
}

impl Tree {
    async fn start(thread: Option<Thread>) -> Tree {
        let inbox = Inbox::new(16);
        let address = inbox.address();
        let group = Group::new("group", GroupSettings::default());
        let children = {
            let group = group.clone();
            move || {
                let counter = ChildSpec::actor("counter", &inbox, || Counter(0));
                let counter = thread.iter().fold(counter, |counter, thread| counter.on(thread));
                vec![ChildSpec::group(&group), counter]
            }
        };
        let tireless = Intensity { within: Duration::ZERO, delay_first: Duration::ZERO, ..Intensity::default() };
        let spec = SupervisorSpec::new("root", children).intensity(tireless);
        let root = Root::new(spec, Arc::new(Machine(now())));
        let handle = root.handle();
        actix_rt::spawn(root.run());
        address.send(Add(0)).await.unwrap();
        Tree { address, group, handle }
    }
}

/// Bursts of messages without waiting for responses.
async fn burst(address: Addr<Counter>) {
    for _ in 0..MESSAGES / BURST {
        for _ in 1..BURST {
            address.do_send(Add(1));
        }
        address.send(Add(1)).await.unwrap();
    }
}

async fn one_by_one(address: Addr<Counter>) {
    for _ in 0..MESSAGES / 10 {
        address.send(Add(1)).await.unwrap();
    }
}

/// The best of several rounds, taken in turns so that both see the same machine.
async fn compare<W: Future<Output = ()>>(
    name: &str,
    plain: &Addr<Counter>,
    supervised: &Addr<Counter>,
    work: fn(Addr<Counter>) -> W,
) {
    let messages = if name.starts_with("do_send") { MESSAGES } else { MESSAGES / 10 };
    let mut best = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        for (best, address) in best.iter_mut().zip([plain, supervised]) {
            let started = now();
            work(address.clone()).await;
            *best = best.min(started.elapsed().as_nanos() as f64 / f64::from(messages));
        }
    }
    println!("| {name} | {:.0} ns | {:.0} ns | {:.2} |", best[0], best[1], best[1] / best[0]);
}

/// From the message that crashes the actor to the answer of the next one.
async fn restarts(address: &Addr<Counter>) {
    let mut latencies = Vec::with_capacity(RESTARTS);
    for _ in 0..RESTARTS {
        let started = now();
        address.do_send(Crash);
        address.send(Add(1)).await.unwrap();
        latencies.push(started.elapsed());
    }
    latencies.sort();
    let (median, p99) = (latencies[RESTARTS / 2], latencies[RESTARTS * 99 / 100]);
    println!("restart, from the crash to the next answer, backtrace included: median {median:.1?}, p99 {p99:.1?}");
}

async fn children(tree: &Tree) {
    // The first actors of their kind pay for code and tables that the others share.
    let plain = measure(|_| Counter(0).start()).await;
    let supervised = measure(|number| tree.group.start(&format!("child {number}"), 16, || Counter(0)).unwrap()).await;
    println!("\n| {CHILDREN} children | created | with the first answer | bytes each |\n|---|---|---|---|");
    for (name, measured) in [("plain", &plain), ("supervised", &supervised)] {
        let micros = |duration: Duration| duration.as_secs_f64() * 1e6 / CHILDREN as f64;
        let (created, answered) = (micros(measured.created), micros(measured.answered));
        println!("| {name} | {created:.2} µs each | {answered:.2} µs each | {} |", measured.bytes / CHILDREN);
    }
    let started = now();
    let shown = tree.handle.tree(100).unwrap();
    let total: usize = shown.root.children.iter().map(|child| child.children_total).sum();
    println!("\nreading the tree with {total} of them, 100 shown: {:.1?}", started.elapsed());
}

struct Measured {
    created: Duration,
    answered: Duration,
    bytes: usize,
    _alive: Vec<Addr<Counter>>,
}

async fn measure(create: impl Fn(usize) -> Addr<Counter>) -> Measured {
    let mut alive = Vec::with_capacity(CHILDREN);
    let before = resident_bytes();
    let started = now();
    alive.extend((0..CHILDREN).map(create));
    let created = started.elapsed();
    for address in &alive {
        address.send(Add(1)).await.unwrap();
    }
    let answered = started.elapsed();
    Measured { created, answered, bytes: resident_bytes().saturating_sub(before), _alive: alive }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures the real clock")]
fn now() -> Instant {
    Instant::now()
}

fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
