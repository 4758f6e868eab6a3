import { lstat, readdir, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { NodeOwner } from './node-owner.ts';

describe('the owner of a log', () => {
	it('is one process: another one is refused until it releases the directory', async () => {
		await using temp = await tempSocket();
		const [one, other] = [new NodeOwner(temp.directory), new NodeOwner(temp.directory)];
		await one.claim('nobody');
		await expect(other.claim('nobody')).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringContaining(
				`another process has the log: it listens at ${temp.directory}/owner.sock`,
			) as string,
		});
		expect([await one.isOurs(), await other.isOurs()]).toEqual([true, false]);
		await one.release();
		await one.release();
		expect(await one.isOurs()).toBe(false);
		await other.claim('nobody');
		expect(await other.isOurs()).toBe(true);
		await other.release();
		// The name of a dead socket alone: to remove it might remove a successor's.
		expect(await readdir(temp.directory)).toEqual(['owner.sock']);
	});

	it('loses it to one that claims it from anyone, and does not remove what is not its own', async () => {
		await using temp = await tempSocket();
		const [one, other] = [new NodeOwner(temp.directory), new NodeOwner(temp.directory)];
		await one.claim('nobody');
		await other.claim('anyone');
		expect([await one.isOurs(), await other.isOurs()]).toEqual([false, true]);
		await one.release();
		expect(await other.isOurs()).toBe(true);
		await expect(one.claim('nobody')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await other.release();
	});

	it('is the successor that claims it while it is released, whichever comes first', async () => {
		await using temp = await tempSocket();
		for (let turn = 0; turn < 300; turn++) {
			const [one, other] = [new NodeOwner(temp.directory), new NodeOwner(temp.directory)];
			await one.claim('nobody');
			const claimed = other.claim('anyone');
			for (let wait = turn % 15; wait > 0; wait--) await new Promise((resolve) => setImmediate(resolve));
			await Promise.all([one.release(), claimed]);
			expect(await other.isOurs()).toBe(true);
			await other.release();
		}
	});

	it('that was killed left a socket, which is replaced', async () => {
		await using temp = await tempSocket();
		const path = join(temp.directory, 'owner.sock');
		const server = createServer();
		await new Promise<void>((resolve) => server.listen(`${path}.dead`, resolve));
		// Under another name Node does not find it when it closes.
		await rename(`${path}.dead`, path);
		await new Promise((resolve) => server.close(resolve));
		expect((await lstat(path)).isSocket()).toBe(true);
		const owner = new NodeOwner(temp.directory);
		await owner.claim('nobody');
		expect(await owner.isOurs()).toBe(true);
		await owner.release();
	});

	it('has lost it while its socket is gone', async () => {
		await using temp = await tempSocket();
		const path = join(temp.directory, 'owner.sock');
		const owner = new NodeOwner(temp.directory);
		await owner.claim('nobody');
		await rename(path, `${path}.moved`);
		expect(await owner.isOurs()).toBe(false);
		await rename(`${path}.moved`, path);
		expect(await owner.isOurs()).toBe(true);
		await owner.release();
	});

	it('of no directory gives the error of the operating system', async () => {
		await using temp = await tempSocket();
		const missing = new NodeOwner(join(temp.directory, 'missing'));
		await expect(missing.claim('nobody')).rejects.toMatchObject({ code: 'ENOENT' });
		await writeFile(join(temp.directory, 'file'), '');
		await expect(new NodeOwner(join(temp.directory, 'file')).isOurs()).rejects.toMatchObject({ code: 'ENOTDIR' });
	});

	it('is one, of many that start at the same moment', async () => {
		await using temp = await tempSocket();
		const owners = Array.from({ length: 12 }, () => new NodeOwner(temp.directory));
		const claims = await Promise.allSettled(owners.map((owner) => owner.claim('nobody')));
		expect(claims.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
		await Promise.all(owners.map((owner) => owner.release()));
		// The name of a dead socket alone: to remove it might remove a successor's.
		expect(await readdir(temp.directory)).toEqual(['owner.sock']);
	});

	it('has a directory whose path is short enough for a socket, or is told so', async () => {
		const owner = new NodeOwner(`/tmp/${'x'.repeat(100)}`);
		await expect(owner.claim('nobody')).rejects.toThrow('the directory of the log is too long');
	});
});
