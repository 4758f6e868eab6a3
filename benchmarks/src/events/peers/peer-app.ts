// The process of an app that hands events to a peer. Argument: a SenderPlace as JSON. Commands are lines of JSON: see PeerCommand.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

import { Samples } from '../../load/samples.ts';
import { openSender } from './open-sender.ts';
import type { PeerCommand, PeerSpeed } from './peer-command.ts';
import type { Sender, SenderPlace } from './sender.ts';

const IN_FLIGHT_MAX = 1000;
/** Of the flow that is killed: as many events in a turn, which takes so long. */
const TURN_EVENTS = 4;
const TURN_MS = 2;
const FLOW_IN_FLIGHT_MAX = 64;
const RETRY_MS = 20;
/** 200 bytes of an event, besides its number. */
const FILLER = 'x'.repeat(180);

const sender = await openSender(JSON.parse(process.argv[2] ?? '') as SenderPlace);
let isStopped = false;
say('ready');
for await (const line of createInterface({ input: process.stdin })) {
	const command = JSON.parse(line) as PeerCommand;
	if (command.kind === 'measure') say(JSON.stringify(await measure(sender, command)));
	else if (command.kind === 'flow') void flow(sender, command.from);
	else isStopped = true;
}
process.exit(0);

/** In this tick: what is said is read, also if the process is killed in the next one. */
function say(line: string): void {
	writeSync(1, `${line}\n`);
}

function eventOf(number: number): string {
	return JSON.stringify({ n: number, text: FILLER });
}

async function measure(to: Sender, { calls, throughputMs }: PeerCommand & { kind: 'measure' }): Promise<PeerSpeed> {
	const samples = new Samples();
	for (let call = 0; call < calls; call++) {
		const startedMs = performance.now();
		const done = to.send(eventOf(-1), `one-${call}`);
		if (!to.isSync) await done;
		samples.add((performance.now() - startedMs) * 1000);
		await done;
	}
	samples.sort();
	let count = 0;
	const startedMs = performance.now();
	// A loop for each call in flight: racing a thousand promises again for each that ends would take longer than the calls.
	const callOn = async (): Promise<void> => {
		while (performance.now() - startedMs < throughputMs) await to.send(eventOf(-1), `many-${count++}`);
	};
	await Promise.all(Array.from({ length: IN_FLIGHT_MAX }, callOn));
	await to.settle();
	const eventsPerSecond = (count / (performance.now() - startedMs)) * 1000;
	return { p50Us: samples.percentile(0.5), p99Us: samples.percentile(0.99), eventsPerSecond };
}

/** Numbered events, each called until it is done: `c` is said before the first call of one, `d` when the app may take it for done. */
async function flow(to: Sender, from: number): Promise<void> {
	const inFlight = new Set<Promise<void>>();
	for (let number = from; !isStopped; ) {
		for (let turn = 0; turn < TURN_EVENTS && inFlight.size < FLOW_IN_FLIGHT_MAX; turn++) {
			say(`c ${number}`);
			const done = sendUntilDone(to, number).then(() => void inFlight.delete(done));
			inFlight.add(done);
			number++;
		}
		await delay(TURN_MS);
	}
	await Promise.all(inFlight);
	await to.settle();
	await to.close();
	say('end');
	process.exit(0);
}

async function sendUntilDone(to: Sender, number: number): Promise<void> {
	for (;;) {
		try {
			await to.send(eventOf(number), `n-${number}`);
			say(`d ${number}`);
			return;
		} catch {
			// Whoever was to take it was killed, and is there again soon.
			await delay(RETRY_MS);
		}
	}
}
