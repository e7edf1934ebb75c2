//! A node as a child process: this program as `feedwarden run` with a configuration of its own.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::demo::world::DemoError;

/// What the demo has done to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeProcessState {
    Running,
    /// Suspended with SIGSTOP.
    Suspended,
    /// Ended with SIGKILL.
    Killed,
    /// It has ended after SIGTERM.
    Ended,
}

/// Dropping it kills the process.
pub(super) struct NodeProcess {
    pub(super) name: String,
    pub(super) state: NodeProcessState,
    configuration: PathBuf,
    /// Standard output and standard error.
    output: PathBuf,
    child: Option<Child>,
}

impl NodeProcess {
    pub(super) fn start(name: String, configuration: PathBuf, output: PathBuf) -> Result<NodeProcess, DemoError> {
        let state = NodeProcessState::Killed;
        let mut node = NodeProcess { name, state, configuration, output, child: None };
        node.start_again()?;
        Ok(node)
    }

    /// Starts it after it was killed.
    pub(super) fn start_again(&mut self) -> Result<(), DemoError> {
        self.child = Some(self.spawn().map_err(|cause| DemoError::NodeStart { name: self.name.clone(), cause })?);
        self.state = NodeProcessState::Running;
        Ok(())
    }

    fn spawn(&self) -> io::Result<Child> {
        let output = File::create(&self.output)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("run").arg("--config").arg(&self.configuration);
        // Settings in our environment would override the configuration file.
        command.env_clear();
        // Ctrl-C is for the demo alone.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        self.state = NodeProcessState::Killed;
        Ok(())
    }

    pub(super) fn suspend(&mut self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        self.state = NodeProcessState::Suspended;
        Ok(())
    }

    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.signal(Signal::CONT)?;
        self.state = NodeProcessState::Running;
        Ok(())
    }

    /// Asks it to settle its polls and leave.
    pub(super) fn terminate(&mut self) -> io::Result<()> {
        self.signal(Signal::TERM)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        match &self.child {
            Some(child) => Ok(kill_process(Pid::from_child(child), signal)?),
            None => Ok(()),
        }
    }

    /// Its exit status, if it has ended by itself.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let Some(status) = self.child.as_mut().map(Child::try_wait).transpose()?.flatten() else { return Ok(None) };
        self.child = None;
        self.state = NodeProcessState::Ended;
        Ok(Some(status))
    }

    /// The last line that it has printed.
    pub(super) fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.output).unwrap_or_default();
        text.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {}", line.trim()))
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.kill();
    }
}
