#!/usr/bin/env node
// The same command under its second name: it names itself as the file that is run.
import './sidecar.js';
