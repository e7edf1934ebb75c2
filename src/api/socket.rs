//! The admin socket: private to its owner, not replaced while another daemon serves it, replaced when stale.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error(
        "another feedwarden serves the admin socket {}; stop it first, or give this one a socket of its own (api.socket)",
        .0.display()
    )]
    Live(PathBuf),
    /// The path is not a socket.
    #[error("{} exists and is not a socket; remove it, or set another path (api.socket)", .0.display())]
    NotASocket(PathBuf),
    #[error("cannot open the admin socket {}: {source} (api.socket)", path.display())]
    System { path: PathBuf, source: std::io::Error },
}

/// The socket, with a lock that the system releases when the process ends.
pub(super) struct AdminSocket {
    pub(super) listener: UnixListener,
    pub(super) lock: SocketLock,
}

pub(super) struct SocketLock {
    path: PathBuf,
    _file: File,
}

/// Opens the socket with access for its owner only.
pub(super) fn open(path: &Path) -> Result<AdminSocket, SocketError> {
    let failed = |source| SocketError::System { path: path.to_owned(), source };
    let lock = lock(path)?;
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => return Err(SocketError::NotASocket(path.to_owned())),
        // Another daemon serves the socket without holding the lock.
        Ok(_) if UnixStream::connect(path).is_ok() => return Err(SocketError::Live(path.to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    // Set the permissions before renaming it into place, which replaces a stale socket atomically.
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
        // While the lock is held, no other daemon can have replaced the socket.
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
