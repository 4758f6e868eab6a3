import { clientFrame } from '../generate/client-frames.ts';
import { SeededRandom } from '../random.ts';
import type { Crowd } from './crowd.ts';
import { eventAttacks } from './event-attacks.ts';

/**
 * One way to be hostile: opens what it needs and goes on until the crowd is let go. Resolves when it is under way, with a
 * word on how much that is. Attacks are paced, because the machine is shared with what they are measured against: what
 * counts is what they make the sidecar do, and not that they use up the processors.
 */
export type Attack = (crowd: Crowd) => Promise<string>;

const random = new SeededRandom(5);
const LOOKUP = ',"func":"getService","data":{"service":"barista"}}\n';
/** Larger than what the kernel holds for a socket: a client that does not read makes the sidecar hold the rest. */
const BULKY = `,"func":"ping","data":"${'x'.repeat(16_384)}"}\n`;

function requests(count: number, rest: string): string {
	return Array.from({ length: count }, (_, id) => `{"id":${id}${rest}`).join('');
}

function request(id: number, func: string, data: object): string {
	return `${JSON.stringify({ id, func, data })}\n`;
}

/** A question of each function for a name that was not asked for before. */
function questions(number: number, funcs: readonly string[]): string {
	const name = `nobody-${number}`;
	return funcs
		.map((func, index) => request(number * 4 + index, func, /Key$/.test(func) ? { key: name } : { service: name }))
		.join('');
}

/** Every attack by its name. */
export const attacks: Readonly<Record<string, Attack>> = {
	'random bytes': async (crowd) => {
		await crowd.open(8, { reopens: true });
		crowd.everyMs(10, (socket) => {
			crowd.write(socket, Buffer.from(Array.from({ length: 512 }, () => (random.oneIn(40) ? 10 : random.below(256)))));
		});
		return '8 connections, 512 random bytes each 10 ms';
	},
	'random valid frames': async (crowd) => {
		await crowd.open(8, { reopens: true });
		// Each makes the sidecar do something, registrations that are told to all who watch among it.
		crowd.oneEachMs(2, (socket) => crowd.write(socket, `${clientFrame(random)}\n`));
		return '8 connections, 500 frames of every function a second';
	},
	'a paced flood': async (crowd) => {
		await crowd.open(4);
		const burst = requests(64, LOOKUP);
		crowd.everyMs(10, (socket) => crowd.write(socket, burst));
		return '4 connections, 25,600 lookups a second';
	},
	'a flood as fast as it is taken': async (crowd) => {
		await crowd.open(2);
		crowd.always(requests(1024, LOOKUP));
		return '2 connections that write whenever they can';
	},
	'slow reads': async (crowd) => {
		await crowd.open(4, { reads: false });
		crowd.each((socket) => crowd.write(socket, '{"id":1,"func":"watchService","data":{"service":"changing"}}\n'));
		const burst = requests(4, BULKY);
		await crowd.fill(burst);
		crowd.everyMs(10, (socket) => crowd.write(socket, burst));
		return '4 connections that never read, and have asked for more than a sidecar keeps for them';
	},
	'slow writes': async (crowd) => {
		await crowd.open(500);
		crowd.everyMs(100, (socket, turn) => crowd.write(socket, turn === 0 ? '{"id":1,"data":"' : 'x'));
		return '500 connections with a byte of a frame each 100 ms';
	},
	'a connection storm': async (crowd) => {
		await crowd.open(8, { reopens: true });
		crowd.everyMs(10, (socket, turn) => {
			if (turn % 2 === 0) crowd.write(socket, '{"id":1,"func":"hel');
			socket.destroy();
		});
		return '8 connections that are dropped and made again each 10 ms';
	},
	'a flood of names': async (crowd) => {
		await crowd.open(2);
		let names = 0;
		crowd.everyMs(20, (socket) => {
			const asked = Array.from({ length: 16 }, () => questions(++names, ['getService', 'getKey', 'explain']));
			crowd.write(socket, asked.join(''));
		});
		return '2 connections, 4,800 questions a second for names that nobody has';
	},
	'a flood of lists': async (crowd) => {
		await crowd.open(4);
		let places = 0;
		crowd.everyMs(80, (socket) => {
			const elsewhere = Array.from({ length: 8 }, () => ({ datacenter: `dc${++places}` }));
			const asked = [...Array.from({ length: 24 }, () => ({})), ...elsewhere];
			crowd.write(socket, asked.map((data, id) => request(id, 'listServices', data)).join(''));
		});
		return '4 connections, 1,600 lists a second, every fourth of a datacenter that there is not';
	},
	'questions left behind': async (crowd) => {
		await crowd.open(16, { reopens: true });
		let names = 0;
		crowd.oneEachMs(10, (socket) => {
			const asked = Array.from({ length: 8 }, () => questions(++names, ['watchService', 'watchKey', 'getInstances']));
			socket.write(asked.join(''), () => socket.destroy());
		});
		return '16 connections, 2,400 questions and watches a second for new names, each gone before the answer';
	},
	'connections held': async (crowd) => {
		const open = await crowd.open(crowd.connections);
		crowd.each((socket) => crowd.write(socket, requests(1, LOOKUP)));
		return `${open} connections`;
	},
	...eventAttacks,
};
