import { Writable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { LogOutput } from './logger.ts';

/** A pipe that takes as many lines as the test reads. */
function pipe() {
	const taken: string[] = [];
	const waiting: (() => void)[] = [];
	let isRead = true;
	const stream = new Writable({
		decodeStrings: false,
		highWaterMark: 1,
		write(line: string, _encoding, done) {
			taken.push(line);
			if (isRead) done();
			else waiting.push(done);
		},
	});
	const read = (isReading: boolean): void => {
		isRead = isReading;
		for (let done = waiting.shift(); isReading && done !== undefined; done = waiting.shift()) done();
	};
	return { stream, taken, read };
}

describe('the output of the log', () => {
	it('drops and counts what its reader does not take, and says so when the reader is back', async () => {
		const { stream, taken, read } = pipe();
		const told: number[] = [];
		const output = new LogOutput({ stream, unreadBytesMax: 30, back: (dropped) => told.push(dropped) });
		read(false);
		for (let line = 0; line < 10; line++) output.write(`line ${line} 90\n`);
		expect([output.dropped, told]).toEqual([7, []]);
		const drained = new Promise((resolve) => stream.once('drain', resolve));
		read(true);
		await drained;
		expect(taken).toEqual(['line 0 90\n', 'line 1 90\n', 'line 2 90\n']);
		expect(told).toEqual([7]);
		output.write('again\n');
		expect([taken.at(-1), output.dropped]).toEqual(['again\n', 7]);
	});

	it('writes within the call what can be written: a line before a crash is there', () => {
		const { stream, taken } = pipe();
		const output = new LogOutput({ stream });
		for (const line of ['one\n', 'two\n']) output.write(line);
		expect(taken).toEqual(['one\n', 'two\n']);
	});

	it('says once why it cannot write, counts what is lost, and throws nothing', async () => {
		const failed: string[] = [];
		const stream = new Writable({
			autoDestroy: false,
			write: (_line, _encoding, done) => done(new Error('the reader has gone')),
		});
		const output = new LogOutput({ stream, failed: ({ message }) => failed.push(message) });
		for (let line = 0; line < 3; line++) output.write('lost\n');
		await new Promise((resolve) => setImmediate(resolve));
		expect(failed).toEqual(['the reader has gone']);
		expect(output.dropped).toBe(3);
	});
});
