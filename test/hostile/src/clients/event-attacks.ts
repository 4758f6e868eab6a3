import type { Socket } from 'node:net';

import type { Crowd } from './crowd.ts';

/** Producers and uplinks that break the rules of events, each as its words say. */
export type EventAttack = (crowd: Crowd) => Promise<string>;

/** An event of a kilobyte. */
const PADDING = 'x'.repeat(1000);
const HELLO = line({ id: 0, func: 'hello', data: { versions: [1], client: 'attacker', features: ['push', 'events'] } });
/** What one connection sends that ignores its window. */
const IGNORED_BYTES = 100 << 20;
/** Producers of the whole crowd; a process has two of them. */
const PRODUCERS = 5000;
const PRODUCERS_PER_CONNECTION = 64;

let names = 0;

function line(frame: object): string {
	return `${JSON.stringify(frame)}\n`;
}

function openProducer(id: number): string {
	return line({ id, func: 'openProducer', data: { producer: `attacker-${process.pid}-${++names}` } });
}

function events(first: number, count: number): string {
	let text = '';
	for (let seq = first; seq < first + count; seq++) {
		text += line({ seq, func: 'event', data: { stream: 'attacked', payload: PADDING } });
	}
	return text;
}

/** Resolves with the ticket that a call line is given next; never if it is closed first. */
function ticketOf(socket: Socket): Promise<string> {
	return new Promise((resolve) => {
		let text = '';
		const read = (chunk: Buffer): void => {
			text += chunk.toString();
			const [, ticket] = /"ticket":"([^"]+)"/.exec(text) ?? [];
			if (ticket === undefined) return;
			socket.off('data', read);
			resolve(ticket);
		};
		socket.on('data', read);
	});
}

function uplinkHello(ticket: string): string {
	return HELLO + line({ func: 'uplink', data: { ticket } });
}

/** Opens so many producers, each with an uplink; gives the uplinks. */
async function producers(crowd: Crowd, count: number): Promise<Socket[]> {
	const callLines = await crowd.sockets(count);
	const tickets = await Promise.all(
		callLines.map((socket) => {
			const ticket = ticketOf(socket);
			socket.write(HELLO + openProducer(1));
			return ticket;
		}),
	);
	// The acks are left unread.
	for (const socket of callLines) socket.pause();
	const uplinks = await crowd.sockets(count);
	for (const [index, socket] of uplinks.entries()) socket.write(uplinkHello(tickets[index] ?? ''));
	return uplinks;
}

/** Every attack on events by its name. */
export const eventAttacks: Readonly<Record<string, EventAttack>> = {
	'acks left unread': async (crowd) => {
		const uplinks = await producers(crowd, 4);
		let seq = 1;
		crowd.timerMs(10, () => {
			for (const socket of uplinks) crowd.write(socket, events(seq, 4));
			seq += 4;
		});
		return '4 producers of 400 events a second that read none of their acks';
	},
	'windows ignored': async (crowd) => {
		const uplinks = await producers(crowd, 2);
		const sent = uplinks.map(() => ({ seq: 1, bytes: 0 }));
		crowd.timerMs(20, () => {
			for (const [index, socket] of uplinks.entries()) {
				const state = sent[index] as { seq: number; bytes: number };
				if (state.bytes >= IGNORED_BYTES || socket.writableLength > 1 << 20) continue;
				const text = events(state.seq, 64);
				state.seq += 64;
				state.bytes += text.length;
				crowd.write(socket, text);
			}
		});
		return '2 producers that send up to 100 MB as fast as they are read, whatever their windows';
	},
	'tickets guessed': async (crowd) => {
		const [callLine] = await crowd.sockets(1);
		if (callLine === undefined) return 'no connection';
		const ticket = ticketOf(callLine);
		callLine.write(HELLO + openProducer(1));
		const stolen = await ticket;
		let guesses = 0;
		await crowd.open(8, { reopens: true });
		crowd.oneEachMs(5, (socket) => {
			// Every second one is that of a producer, which is good once.
			const guess = ++guesses % 2 === 0 ? stolen : `${guesses}`.padStart(32, 'A');
			crowd.write(socket, uplinkHello(guess) + events(1, 1));
		});
		return '8 connections, 200 wrong or used tickets a second';
	},
	'10,000 producers': async (crowd) => {
		const callLines = await crowd.sockets(Math.ceil(PRODUCERS / PRODUCERS_PER_CONNECTION));
		for (const socket of callLines) {
			socket.resume();
			socket.write(HELLO);
		}
		let opened = 0;
		crowd.timerMs(10, () => {
			const socket = callLines[Math.floor(opened / 16) % callLines.length];
			if (socket === undefined) return;
			let text = '';
			for (let index = 0; index < 16; index++) text += openProducer(++opened);
			crowd.write(socket, text);
		});
		return `${callLines.length} connections, 1,600 producers opened a second`;
	},
};
