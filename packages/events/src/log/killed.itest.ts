import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { systemClock } from '@spock/protocol/internal';
import { tempSocket } from '@spock/testkit';
import { sourceBundle } from '@spock/testkit/source-bundle';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { NodeFiles } from '../disk/node-files.ts';
import { NodeOwner } from '../disk/node-owner.ts';
import { EventLog } from './event-log.ts';

/** Kills of one log, one after the other. */
const KILLS = 4;
const program = new URL('../../test/append-forever.ts', import.meta.url).pathname;

async function recover(directory: string): Promise<{ readonly log: EventLog; readonly damage: unknown[] }> {
	const damage: unknown[] = [];
	const log = new EventLog({
		directory,
		files: new NodeFiles(),
		owner: new NodeOwner(directory),
		clock: systemClock,
		memory: { checkpoint: () => '{}', restore: () => undefined, replay: () => undefined },
		listener: {
			committed: () => undefined,
			stateChanged: () => undefined,
			windows: () => undefined,
			damaged: (each) => damage.push(each),
			failed: (error) => damage.push(error),
			left: () => undefined,
		},
		limits: { freeBytesMin: 0 },
	});
	await log.open(false);
	return { log, damage };
}

describe('a process that is killed while it appends', () => {
	it('has lost nothing that it was told to be on disk, on a real disk', async () => {
		await using temp = await tempSocket();
		const outfile = join(temp.directory, 'append.mjs');
		await build({ ...sourceBundle, entryPoints: [program], outfile });
		const directory = join(temp.directory, 'log');
		let records = 1;
		for (let kill = 0; kill < KILLS; kill++) {
			const child = spawn(process.execPath, [outfile, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
			let output = '';
			child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
				output += chunk;
				// Enough to have several segments; then at any moment.
				if (output.split('\n').length > 30 + kill * 7) child.kill('SIGKILL');
			});
			await once(child, 'close');
			const told = Number(output.slice(0, output.lastIndexOf('\n')).split('\n').at(-1));
			const { log, damage } = await recover(directory);
			expect(damage).toEqual([]);
			expect(told).toBeGreaterThan(records);
			expect(log.persisted).toBeGreaterThanOrEqual(told);
			let position = log.first;
			for (let from = log.first; from < log.persisted; ) {
				const { events, next } = await log.read(from, { bytesMax: 1_000_000, eventsMax: 10_000 });
				for (const event of events) {
					expect(event.position === position && event.text.includes(`"payload":${position}}`)).toBe(true);
					position++;
				}
				from = next;
			}
			expect([log.first, position]).toEqual([1, log.persisted]);
			records = log.next;
			await log.close(1000);
		}
	});
});
