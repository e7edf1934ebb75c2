//! The admin socket: nobody else's to use, left alone while another daemon serves it, taken over when its owner is gone.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Somebody serves it.
    #[error(
        "another feedwarden serves the admin socket {}; stop it first, or give this one a socket of its own (api.socket)",
        .0.display()
    )]
    Live(PathBuf),
    /// Something else is there.
    #[error("{} is there and is no socket; move it away, or name another place (api.socket)", .0.display())]
    NotASocket(PathBuf),
    /// The system does not want it there.
    #[error("cannot open the admin socket {}: {source} (api.socket)", path.display())]
    System {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The socket, and the lock that makes it ours as long as the process lives, however it ends.
pub(super) struct AdminSocket {
    pub(super) listener: UnixListener,
    pub(super) lock: SocketLock,
}

/// Removes the socket at the end.
pub(super) struct SocketLock {
    path: PathBuf,
    _file: File,
}

/// Opens the socket for its owner alone.
pub(super) fn open(path: &Path) -> Result<AdminSocket, SocketError> {
    let failed = |source| SocketError::System { path: path.to_owned(), source };
    let lock = lock(path)?;
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => return Err(SocketError::NotASocket(path.to_owned())),
        // Whoever answers did not take the lock, and is at work all the same.
        Ok(_) if UnixStream::connect(path).is_ok() => return Err(SocketError::Live(path.to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    // Nobody sees it before it is closed to others, and a stale one is replaced in one step.
    let mut beside = path.to_owned().into_os_string();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let _ = std::fs::remove_file(&beside);
    let listener = UnixListener::bind(&beside).map_err(failed)?;
    std::fs::set_permissions(&beside, Permissions::from_mode(0o600)).map_err(failed)?;
    std::fs::rename(&beside, path).map_err(failed)?;
    Ok(AdminSocket { listener, lock: SocketLock { path: path.to_owned(), _file: lock } })
}

fn lock(path: &Path) -> Result<File, SocketError> {
    let mut name = path.to_owned().into_os_string();
    name.push(".lock");
    let failed = |source| SocketError::System { path: path.to_owned(), source };
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&name).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SocketError::Live(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

impl Drop for SocketLock {
    fn drop(&mut self) {
        // While the lock is held nobody else can have put another one there.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_for_its_owner_and_goes_with_its_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.sock");
        let socket = open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(open(&path), Err(SocketError::Live(_))));
        drop(socket.lock);
        assert!(!path.exists());
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_of_somebody_else_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.sock");
        let other = UnixListener::bind(&path).unwrap();
        assert!(matches!(open(&path), Err(SocketError::Live(_))));
        drop(other);
        assert!(path.exists(), "its owner is gone, and it is not");
        let socket = open(&path).unwrap();
        UnixStream::connect(&path).unwrap();
        drop(socket);
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.sock");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(open(&path), Err(SocketError::NotASocket(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        let error = open(&directory.path().join("missing/a.sock")).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("api.socket"), "{error}");
    }
}
