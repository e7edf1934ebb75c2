//! A directory that files of sinks lie below: opened part by part without following symbolic links, so that no address
//! leads out of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, Stat};

/// An open directory, and how it is called in messages.
pub(super) struct Directory {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// The directory of a file below `root`, and the file's name.
    pub(super) fn of_file<'a>(root: &Path, file: &'a Path) -> Result<(Directory, &'a OsStr), String> {
        let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(format!("{} names no file", file.display()));
        };
        let below = parent.strip_prefix(root);
        let below =
            below.map_err(|_| format!("{} is not below {} (sinks.directory)", file.display(), root.display()))?;
        // The root itself is the operator's and may be a link.
        let mut descriptor = rustix::fs::open(root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| format!("the directory {} cannot be opened: {error}", root.display()))?;
        let mut path = root.to_owned();
        for part in below.components() {
            let Component::Normal(part) = part else {
                return Err(format!("{} holds a part such as \"..\"", file.display()));
            };
            path.push(part);
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            descriptor = rustix::fs::openat(&descriptor, part, flags, Mode::empty()).map_err(|error| {
                format!("the directory {} cannot be opened: {error}; it has to exist and be no link", path.display())
            })?;
        }
        Ok((Directory { descriptor, path }, name))
    }

    /// Opens a file for appending, made if it is missing; never through a link.
    pub(super) fn open(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.descriptor, name, flags, Mode::from_raw_mode(0o640))?;
        Ok(File::from(file))
    }

    /// What the name stands for; a link stands for itself.
    pub(super) fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.descriptor, from, &self.descriptor, to)?)
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// Names of the files, in no order.
    pub(super) fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let listed = rustix::fs::openat(&self.descriptor, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let mut buffer = Vec::with_capacity(8192);
        let mut entries = RawDir::new(listed, buffer.spare_capacity_mut());
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            names.push(entry?.file_name().to_bytes().to_owned());
        }
        Ok(names)
    }

    /// Makes the names durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.descriptor)?)
    }

    pub(super) fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }
}
