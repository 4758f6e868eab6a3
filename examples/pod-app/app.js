#!/usr/bin/env node
// An app in a pod that looks a service up without pause, counts, prints a line of JSON each second and one at its end, and
// leaves as an app should: after SIGTERM it finishes what it does, with lookups, then closes its connection and ends.
//   node examples/pod-app/app.js
// APP_SERVICE names the service (barista). APP_DRAIN_MS is how long it goes on after SIGTERM (1500), APP_RUN_MS after what time
// it ends by itself, as a job does (never); APP_ON_SIGTERM=ignore plays an app that does not listen. APP_TOKEN_FILE has the token that a
// Spock of the node asks for.
import { readFile } from 'node:fs/promises';

import { connect } from '@spock/client';

const { APP_SERVICE: service = 'barista', APP_DRAIN_MS, APP_RUN_MS, APP_ON_SIGTERM, APP_TOKEN_FILE } = process.env;
const drainMs = Number(APP_DRAIN_MS ?? 1500);
/** A turn is a look into the snapshot; each 16th also asks the sidecar over the socket. */
const TURN_MS = 1;
const TURNS_FOR_A_QUESTION = 16;

const counts = { lookups: 0, failed: 0, stale: 0, questions: 0, questionsFailed: 0 };
const errors = {};
let lastLookupAt = 0;
let phase = 'running';

function print() {
	const { state, reconnects } = diplomat.status();
	const at = Date.now();
	console.log(JSON.stringify({ at, phase, service, ...counts, errors, lastLookupAt, connection: state, reconnects }));
}

function failed(count, { code = 'UNKNOWN', message }) {
	counts[count]++;
	// One message of each kind is enough to go by.
	errors[code] ??= message;
}

async function lookUp() {
	counts.lookups++;
	try {
		const { stale } = await diplomat.getService(service);
		if (stale) counts.stale++;
	} catch (error) {
		failed('failed', error);
	}
	lastLookupAt = Date.now();
}

/** As lookUp, but answered by the sidecar itself. Not waited for: a lookup must not wait for a question. */
async function ask() {
	counts.questions++;
	await diplomat.getService(service, { fresh: true }).catch((error) => failed('questionsFailed', error));
}

// Asked for before anything else: process 1 ignores a signal that nobody handles.
let stop = () => {
	phase = 'ended';
};
process.on('SIGTERM', () => (APP_ON_SIGTERM === 'ignore' ? undefined : stop()));
process.on('SIGINT', () => stop());

// Read for each connection: it may be exchanged.
const token = async () => (await readFile(APP_TOKEN_FILE, 'utf8')).trim();
const diplomat = await connect({ readyTimeoutMs: 60_000, ...(APP_TOKEN_FILE && { token }) });
stop = () => {
	if (phase !== 'running') return;
	phase = 'draining';
	setTimeout(() => {
		phase = 'ended';
	}, drainMs);
};
if (APP_RUN_MS !== undefined) setTimeout(stop, Number(APP_RUN_MS));
const printing = setInterval(print, 1000);
const questions = new Set();
for (let turn = 0; phase !== 'ended'; turn++) {
	await lookUp();
	if (turn % TURNS_FOR_A_QUESTION === 0) {
		const question = ask().finally(() => questions.delete(question));
		questions.add(question);
	}
	await new Promise((resolve) => setTimeout(resolve, TURN_MS));
}
await Promise.all(questions);
clearInterval(printing);
await diplomat.drain();
print();
