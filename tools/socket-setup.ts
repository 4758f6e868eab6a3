import { statSync } from 'node:fs';

// Before each file. Where the last file that a process has asked about was a socket, `realpathSync` ends at the first part of a path that is
// in its cache, and a module behind a symbolic link is loaded from the wrong place. A test may have asked about a socket.
// https://github.com/nodejs/node/blob/v20.20.2/lib/fs.js, at "break if a pipe/socket"
statSync('/');
