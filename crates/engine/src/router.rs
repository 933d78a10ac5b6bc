//! The entry point for tool calls: finds the tool, plans, waits for a lane, runs and always answers.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use policy::{Effect, Gate, Intent};
use tokio_util::sync::CancellationToken;
use tool::{
    AnyTool, BoxFuture, CallAttempt, Cx, ErrorHints, Lane, NoticeListener, TakenOverCall, ToolCall,
    ToolError, ToolOutput, WorkingDir,
};
use tracing::Instrument;

use crate::call_stop::{CallStop, SharedCancelCause};
use crate::finalize_output::{OverflowStore, finalize_output, truncate_output};
use crate::hook_runner::{HookList, HookRun};
use crate::lanes::{LaneTicket, Lanes};
use crate::observer::ObserverSet;
use crate::orchestrator::CallRun;
use crate::stopwatch::CallStopwatch;
use crate::{
    Approver, BYTES_PER_TOKEN, CallEvent, CallObserver, Hook, PlannedCall, Rulebook, ToolMetrics,
    ToolOrchestrator, ToolRegistry,
};

/// Resource limits of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// The token limit of an output; see [`truncate_middle`](crate::truncate_middle) for the way tokens are counted.
    pub output_tokens: usize,
    /// The time limit of a call, counted from the moment its lane is free.
    pub call_timeout: Duration,
    /// The number of shared calls that run at a time.
    pub parallel: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { output_tokens: 10_000, call_timeout: Duration::from_secs(600), parallel: 16 }
    }
}

/// Answers calls with the tools of a registry, under the policy of a gate.
#[derive(Clone)]
pub struct ToolRouter {
    state: Arc<RouterState>,
}

/// The state that clones of a router share.
#[derive(Clone)]
struct RouterState {
    registry: Arc<ToolRegistry>,
    orchestrator: ToolOrchestrator,
    working_dir: Arc<WorkingDir>,
    limits: CallLimits,
    lanes: Arc<Lanes>,
    metrics: Arc<ToolMetrics>,
    observers: Arc<ObserverSet>,
    overflow_store: Option<Arc<dyn OverflowStore>>,
    hooks: HookList,
    hints: ErrorHints,
    cancel_cause: SharedCancelCause,
}

impl ToolRouter {
    /// Creates a router for calls made in `working_dir`.
    pub fn new(registry: ToolRegistry, gate: Gate, working_dir: WorkingDir) -> Self {
        let limits = CallLimits::default();
        let state = RouterState {
            metrics: Arc::default(),
            registry: Arc::new(registry),
            orchestrator: ToolOrchestrator::new(gate),
            working_dir: Arc::new(working_dir),
            lanes: Lanes::new(limits.parallel),
            limits,
            observers: Arc::default(),
            overflow_store: None,
            hooks: HookList::default(),
            hints: ErrorHints::default(),
            cancel_cause: SharedCancelCause::default(),
        };
        Self { state: Arc::new(state) }
    }

    /// Sets the resource limits.
    #[must_use]
    pub fn with_limits(mut self, limits: CallLimits) -> Self {
        let state = Arc::make_mut(&mut self.state);
        state.limits = limits;
        state.lanes = Lanes::new(limits.parallel);
        self
    }

    /// Adds an observer.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn CallObserver>) -> Self {
        Arc::make_mut(&mut Arc::make_mut(&mut self.state).observers).push(observer);
        self
    }

    /// Sets the store for output that is too long for the model.
    #[must_use]
    pub fn with_overflow_store(mut self, store: Arc<dyn OverflowStore>) -> Self {
        Arc::make_mut(&mut self.state).overflow_store = Some(store);
        self
    }

    /// Sets the approver. Without one, every call that needs approval is refused.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        Arc::make_mut(&mut self.state).orchestrator.approver = Some(approver);
        self
    }

    /// Sets the store for rules that the user wants to keep.
    #[must_use]
    pub fn with_rulebook(mut self, rulebook: Arc<dyn Rulebook>) -> Self {
        Arc::make_mut(&mut self.state).orchestrator.rulebook = Some(rulebook);
        self
    }

    /// Adds a hook that sees every call before the verdict and after the answer.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        Arc::make_mut(&mut self.state).hooks.push(hook);
        self
    }

    /// Sets the hints that errors in answers get.
    #[must_use]
    pub fn with_hints(mut self, hints: ErrorHints) -> Self {
        Arc::make_mut(&mut self.state).hints = hints;
        self
    }

    /// Returns a copy with lanes of its own: its calls never wait for calls of this router. The caller orders them.
    #[must_use]
    pub fn with_own_lanes(&self) -> Self {
        let mut copy = RouterState::clone(&self.state);
        copy.lanes = Lanes::new(copy.limits.parallel);
        copy.orchestrator = copy.orchestrator.with_own_questions();
        Self { state: Arc::new(copy) }
    }

    /// Returns a copy with other tools and lanes of its own. Policy, approver, hooks and observers stay the same.
    #[must_use]
    pub fn with_registry(&self, registry: ToolRegistry) -> Self {
        let mut copy = self.with_own_lanes();
        Arc::make_mut(&mut copy.state).registry = Arc::new(registry);
        copy
    }

    /// Returns the hints that errors in answers get.
    pub fn hints(&self) -> &ErrorHints {
        &self.state.hints
    }

    /// Returns the cause that answers of cancelled calls name. Set it before you cancel them.
    pub fn cancel_cause(&self) -> &SharedCancelCause {
        &self.state.cancel_cause
    }

    /// Returns the policy gate.
    pub fn gate(&self) -> &Gate {
        &self.state.orchestrator.gate
    }

    /// Returns the working directory.
    pub fn working_dir(&self) -> &WorkingDir {
        &self.state.working_dir
    }

    /// Returns the tools.
    pub fn registry(&self) -> &ToolRegistry {
        &self.state.registry
    }

    /// Returns the call counters and latencies.
    pub fn metrics(&self) -> &ToolMetrics {
        &self.state.metrics
    }

    /// Answers `call`. Every failure becomes an answer that states its cause.
    ///
    /// The call joins the lane queue when this function is called, not when the future is first polled. Calls
    /// dispatched in the model's order therefore run in the model's order. An unpolled future blocks the calls behind
    /// it; dropping the future cancels the call.
    pub fn dispatch(
        &self,
        call: ToolCall,
        cancel: CancellationToken,
    ) -> impl Future<Output = ToolOutput> + Send + use<> {
        let state = Arc::clone(&self.state);
        let stopwatch = CallStopwatch::starting_at(Instant::now());
        let (call, misnamed) = match state.registry.rewrite_call(&call) {
            None => (call, None),
            Some(Ok(other)) => (other, None),
            Some(Err(fault)) => (call, Some(fault)),
        };
        state.observers.notify(&call.id, &CallEvent::Queued { tool: call.name.clone() });
        // Names and ids come from a model: as values they cannot forge a log line.
        let span = tracing::info_span!("execute_tool", gen_ai.tool.name = ?call.name, gen_ai.tool.call.id = ?call.id.as_str());
        let entry = span.in_scope(|| misnamed.map_or_else(|| state.join_queue(&call), Err));
        async move {
            if tokio::runtime::Handle::try_current().is_err() {
                return finalize_output(
                    Err(ToolError::Fatal(NO_RUNTIME.to_owned())),
                    &stopwatch,
                    &state.hints,
                );
            }
            // The last safety net: code outside the tool is ours or the embedder's, and may panic too.
            let stop = CallStop::new(cancel, state.cancel_cause.clone(), stopwatch.arrived);
            let answering = AssertUnwindSafe(state.answer(&call, entry, stop, &stopwatch));
            answering.catch_unwind().await.unwrap_or_else(|_| {
                let crashed = ToolError::Crashed { tool: call.name.clone() };
                finalize_output(Err(crashed), &stopwatch, &state.hints)
            })
        }
        .instrument(span)
    }
}

/// The answer to a call that is polled outside a runtime. Its author reads it in the first test.
const NO_RUNTIME: &str = "no call can run, because this program polls it without a tokio runtime: await it in one, such as that of \
                          `#[tokio::main]`";

/// Characters of a failed output that are logged.
const MAX_LOGGED_CHARS: usize = 200;

/// A parsed call: its tool, attempt and working directory.
struct CallPlan {
    tool: String,
    /// The call that replaces the model's call, if it is another one.
    replacement: Option<ToolCall>,
    attempt: Box<dyn CallAttempt>,
    working_dir: Arc<WorkingDir>,
}

/// Returns true if a call runs a command that only reads and prints. Such a call may run beside other reading calls,
/// although its tool could do more.
fn is_read_only_command(intent: &Intent) -> bool {
    let only_reads = intent.effects.iter().all(|effect| match effect {
        Effect::Read(_) => true,
        Effect::Exec(exec) => exec.analysis().is_read_only(),
        Effect::Write(_)
        | Effect::SendInput(_)
        | Effect::Network(_)
        | Effect::Foreign(_)
        | Effect::Remember(_) => false,
    });
    only_reads && intent.command().is_some()
}

/// Logs the end of a call: failures at info level, crashes as warnings.
fn log_outcome(output: &ToolOutput, elapsed: Duration) {
    let error = output.facts.error.map(tool::ToolErrorKind::as_str);
    // Text written for a model may be long, and it is hostile input.
    let said: String = output.joined_text().chars().take(MAX_LOGGED_CHARS).collect();
    match output.facts.error {
        _ if output.success => tracing::debug!(?elapsed, "answered"),
        Some(tool::ToolErrorKind::Crashed | tool::ToolErrorKind::Fatal) => {
            tracing::warn!(error, ?elapsed, ?said, "failed");
        }
        Some(_) | None => tracing::info!(error, ?elapsed, ?said, "failed"),
    }
}

/// A call's tool and its lane ticket.
type LaneEntry = Result<(ToolLookup, LaneTicket), ToolError>;

/// The lookup of a called tool.
enum ToolLookup {
    Found(Arc<dyn AnyTool>, Result<CallPlan, ToolError>),
    /// The tool may exist once this future resolves.
    Pending(BoxFuture<'static, ()>),
}

impl RouterState {
    /// Finds the tool and joins the lane queue.
    fn join_queue(&self, call: &ToolCall) -> LaneEntry {
        let tool = match self.registry.find(&call.name) {
            Ok(tool) => tool,
            Err(unknown) => {
                let coming = self.registry.wait_for_tool(&call.name).ok_or(unknown)?;
                // The tool's effects are still unknown. Later calls that only read need not wait for it; later
                // exclusive calls do.
                return Ok((ToolLookup::Pending(coming), self.lanes.enter(Lane::Shared)));
            }
        };
        let lane = catch_unwind(AssertUnwindSafe(|| tool.lane()));
        let lane = lane.map_err(|_| ToolError::Crashed { tool: call.name.clone() })?;
        tracing::debug!(tool = tool.spec().name(), "found the tool");
        let plan = self.plan(call, tool.as_ref());
        if let Ok(plan) = &plan {
            let effects = plan.attempt.intent().effects.len();
            tracing::debug!(effects, "parsed the arguments and stated the intent");
        }
        let is_read_only = plan.as_ref().is_ok_and(|plan| is_read_only_command(plan.attempt.intent()));
        let lane = if is_read_only { Lane::Shared } else { lane };
        tracing::debug!(?lane, "joined the lane queue");
        Ok((ToolLookup::Found(tool, plan), self.lanes.enter(lane)))
    }

    /// Waits until the tool is available.
    async fn wait_until_found(
        &self,
        call: &ToolCall,
        entry: LaneEntry,
        stop: &CallStop,
    ) -> Result<(Arc<dyn AnyTool>, Result<CallPlan, ToolError>, LaneTicket), ToolError> {
        let (lookup, ticket) = entry?;
        let coming = match lookup {
            ToolLookup::Found(tool, plan) => return Ok((tool, plan, ticket)),
            ToolLookup::Pending(coming) => coming,
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(stop.error()),
            () = coming => {
                let tool = self.registry.find(&call.name)?;
                let ticket = match tool.lane() {
                    Lane::Shared => ticket,
                    Lane::Exclusive => {
                        // An exclusive ticket taken now would queue behind the call's own shared ticket.
                        drop(ticket);
                        self.lanes.enter(Lane::Exclusive)
                    }
                };
                let plan = self.plan(call, tool.as_ref());
                Ok((tool, plan, ticket))
            }
        }
    }

    async fn answer(
        &self,
        call: &ToolCall,
        entry: LaneEntry,
        stop: CallStop,
        stopwatch: &CallStopwatch,
    ) -> ToolOutput {
        let entry = stopwatch.time_wait(self.wait_until_found(call, entry, &stop)).await;
        let name = entry.as_ref().ok().map(|(tool, ..)| tool.spec().name().to_owned());
        let outcome = match entry {
            Ok((tool, plan, ticket)) => self.run(call, (tool.as_ref(), plan), ticket, stop, stopwatch).await,
            Err(unknown) => Err(unknown),
        };
        let store = self.overflow_store.as_deref();
        let mut output = finalize_output(outcome, stopwatch, &self.hints);
        truncate_output(&mut output, self.limits.output_tokens, &call.id, store);
        let (success, error, usage) = (output.success, output.facts.error, output.facts.usage);
        let (elapsed, waited) = (output.facts.duration.unwrap_or_default(), output.facts.waited);
        self.metrics.record_call(name.as_deref(), success, elapsed);
        let (enforcement, denials) = (output.facts.enforcement.clone(), output.facts.denials.len());
        let finished =
            CallEvent::Finished { tool: name, success, error, elapsed, waited, usage, enforcement, denials };
        self.observers.notify(&call.id, &finished);
        log_outcome(&output, elapsed);
        output
    }

    async fn run(
        &self,
        call: &ToolCall,
        (tool, plan): (&dyn AnyTool, Result<CallPlan, ToolError>),
        ticket: LaneTicket,
        stop: CallStop,
        stopwatch: &CallStopwatch,
    ) -> Result<ToolOutput, ToolError> {
        // All code of the tool runs inside one of two panic nets, here and in `plan`. No panic of the tool gets past
        // this point.
        let crashed = |_| ToolError::Crashed { tool: tool.spec().name().to_owned() };
        let CallPlan { tool: name, replacement: other, attempt, working_dir } = plan?;
        let effective_call = other.as_ref().unwrap_or(call);
        // Held until the work below is done or dropped.
        let _guard = match ticket {
            LaneTicket::Admitted(guard) => guard,
            LaneTicket::Queued(position) => tokio::select! {
                biased;
                guard = stopwatch.time_wait(position.wait_for_turn()) => guard,
                () = stop.cancelled() => return Err(stop.error()),
            },
        };
        // The turn may have come because the calls before it were cancelled, and this one with them.
        if stop.is_cancelled() {
            return Err(stop.error());
        }
        tracing::debug!("left the lane queue");
        self.observers.notify(&call.id, &CallEvent::Started);
        let observers = &self.observers;
        let planned_call = PlannedCall {
            tool: &name,
            call: effective_call,
            intent: attempt.intent(),
            working_dir: &self.working_dir,
        };
        let (hooks, hints) = (&self.hooks, &self.hints);
        let hook_run = HookRun { hooks, call: planned_call, stop: &stop, observers, hints };
        let mut hook_outcome = hook_run.run_before().await?;
        let cx = self.new_context(call, working_dir);
        let call_run = CallRun {
            tool: &name,
            attempt: attempt.as_ref(),
            hook_reason: hook_outcome.approval_reason.take(),
            cx: &cx,
            limit: self.limits.call_timeout,
            stop: &stop,
            stopwatch,
            observers,
        };
        let work = AssertUnwindSafe(self.orchestrator.run(call_run)).catch_unwind().await;
        hook_run.run_after(hook_outcome, work.map_err(crashed).flatten()).await
    }

    /// Parses the call and states its intent. Another tool may take the call over. A panic in a tool becomes an error.
    fn plan(&self, call: &ToolCall, tool: &dyn AnyTool) -> Result<CallPlan, ToolError> {
        let planned = catch_unwind(AssertUnwindSafe(|| {
            let attempt = tool.plan(call, &self.working_dir)?;
            let Some((tool, taken)) = self.registry.tool_taking_over(attempt.intent()) else {
                let (tool, working_dir) = (tool.spec().name().to_owned(), Arc::clone(&self.working_dir));
                return Ok(CallPlan { tool, replacement: None, attempt, working_dir });
            };
            let TakenOverCall { payload, working_dir } = taken;
            let name = tool.spec().name().to_owned();
            let call = ToolCall { id: call.id.clone(), name: name.clone(), payload };
            let attempt = tool.plan(&call, &working_dir)?;
            Ok(CallPlan { tool: name, replacement: Some(call), attempt, working_dir: Arc::new(working_dir) })
        }));
        planned.map_err(|_| ToolError::Crashed { tool: tool.spec().name().to_owned() })?
    }

    fn new_context(&self, call: &ToolCall, working_dir: Arc<WorkingDir>) -> Cx {
        let budget = self.limits.output_tokens.saturating_mul(BYTES_PER_TOKEN);
        let cx = Cx::new(call.id.clone(), working_dir, budget).with_hints(self.hints.clone());
        if self.observers.is_empty() {
            cx
        } else {
            cx.with_listener(Arc::clone(&self.observers) as Arc<dyn NoticeListener>)
        }
    }
}
