import { chmod, chown, lchown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { NodeFiles } from './node-files.ts';
import { NodeOwner } from './node-owner.ts';
import { type ProcessUser, requirePrivate } from './private-directory.ts';

const gid = process.getegid?.() ?? 0;
const SELF: ProcessUser = { uid: process.geteuid?.() ?? 0, gids: [gid] };
/** Neither the owner nor in its group. */
const STRANGER: ProcessUser = { uid: 54_321, gids: [54_321] };

describe('the directory of a log', () => {
	it('is made for its own user alone, and claimed', async () => {
		await using temp = await tempSocket();
		const directory = join(temp.directory, 'log');
		await new NodeFiles().list(directory);
		const owner = new NodeOwner(directory);
		await owner.claim('nobody');
		await owner.release();
	});

	it('is refused by a log that is to be opened, where others may write', async () => {
		await using temp = await tempSocket();
		const directory = join(temp.directory, 'log');
		await mkdir(directory);
		await chmod(directory, 0o777);
		await expect(new NodeOwner(directory).claim('nobody')).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			// No `owner`: that would say that another process has the log.
			details: { file: directory },
			message: expect.stringContaining(`can be written by others: its mode is 0777: give one of its own, such as`),
		});
	});

	it('may be written by a group that this process is in, as that of a volume, and by no other', async () => {
		await using temp = await tempSocket();
		const directory = join(temp.directory, 'log');
		await mkdir(directory);
		await chmod(directory, 0o770);
		await requirePrivate(directory, SELF);
		await expect(requirePrivate(directory, { ...SELF, gids: [gid + 1] })).rejects.toThrow('its mode is 0770');
	});

	it('is refused where another user has made it, or a link to it', async () => {
		await using temp = await tempSocket();
		const directory = join(temp.directory, 'log');
		await new NodeFiles().list(directory);
		const link = join(temp.directory, 'link');
		await symlink(directory, link);
		await requirePrivate(link, SELF);
		// Whoever may give files away does, and else looks at them as somebody else.
		const mayGive = SELF.uid === 0;
		const looker = mayGive ? SELF : STRANGER;
		if (mayGive) await lchown(link, STRANGER.uid, gid);
		await expect(requirePrivate(link, looker)).rejects.toThrow('is a link that user');
		if (mayGive) await chown(directory, STRANGER.uid, gid);
		await expect(requirePrivate(directory, looker)).rejects.toThrow('belongs to user');
	});

	it('is taken in a directory where anybody may write, such as the root of an emptyDir', async () => {
		await using temp = await tempSocket();
		const directory = join(temp.directory, 'volume', 'log');
		await new NodeFiles().list(directory);
		await chmod(join(temp.directory, 'volume'), 0o777);
		await requirePrivate(directory, SELF);
	});

	it('that is a file is refused with what to do', async () => {
		await using temp = await tempSocket();
		const file = join(temp.directory, 'file');
		await writeFile(file, '');
		for (const path of [file, join(file, 'log')]) {
			await expect(new NodeFiles().list(path)).rejects.toMatchObject({
				code: 'UNAVAILABLE',
				// No `owner`: that would say that another process has the log.
				details: { file: path },
				message: `${path} is a file, or in one: the log needs a directory`,
			});
		}
	});
});
