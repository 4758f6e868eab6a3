import type { Stats } from 'node:fs';
import { lstat, stat } from 'node:fs/promises';

import { SpockError } from '@spock/protocol';

/** Who this process is; undefined on a system without users. */
export interface ProcessUser {
	readonly uid: number;
	/** All groups that it is in. */
	readonly gids: readonly number[];
}

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;

/**
 * Rejects with UNAVAILABLE where another user may write into the log's directory, or has put a link in its place: in a directory such as
 * /tmp any user may have made it first. The directory above it is not checked: any user may write into the root of an `emptyDir`, and whoever puts
 * another one in its place there is refused by its owner. A group of this process may write, because `fsGroup` makes volumes so:
 * https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
 */
export async function requirePrivate(directory: string, user: ProcessUser | undefined = processUser()): Promise<void> {
	if (user === undefined) return;
	const link = await lstat(directory);
	const isOurs = ({ uid }: Stats): boolean => uid === user.uid || uid === 0;
	if (link.isSymbolicLink() && !isOurs(link)) throw unsafe(directory, `is a link that user ${link.uid} has made`);
	const { uid, gid, mode } = link.isSymbolicLink() ? await stat(directory) : link;
	if (uid !== user.uid && uid !== 0) throw unsafe(directory, `belongs to user ${uid}, not to ${user.uid}`);
	const isOpenToGroup = (mode & GROUP_WRITES) !== 0 && !user.gids.includes(gid);
	if ((mode & OTHERS_WRITE) === 0 && !isOpenToGroup) return;
	throw unsafe(directory, `can be written by others: its mode is ${(mode & 0o777).toString(8).padStart(4, '0')}`);
}

function processUser(): ProcessUser | undefined {
	const { geteuid, getegid, getgroups } = process;
	if (geteuid === undefined || getegid === undefined || getgroups === undefined) return undefined;
	return { uid: geteuid(), gids: [getegid(), ...getgroups()] };
}

function unsafe(directory: string, why: string): SpockError {
	const message = `the directory of the log ${why}: give one of its own, such as ${directory}/log, which is made with mode 0700`;
	return new SpockError('UNAVAILABLE', message, { details: { directory, file: directory } });
}
