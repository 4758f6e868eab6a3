import type { BigIntStats } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import { messageOf } from '@spock/protocol/internal';

import { statOf } from '@spock/protocol/node';

import type { Place } from '../../client/place.ts';
import type { SidecarTarget } from '../../client/sidecar-target.ts';
import { formatDuration } from '../../output/figures.ts';
import { type Finding, failed, ok } from './diagnosis.ts';

/** Whether a process accepts connections at the address. For a socket file that is not so, why. */
export async function checkSocket(target: SidecarTarget, timeoutMs: number, place: Place): Promise<Finding> {
	const error = await connectError(target, timeoutMs);
	if (error === undefined) return ok('socket', `${target.name} accepts connections`);
	const { address } = target;
	if ('path' in address) return fileFinding(address.path, error, place);
	return failed('socket', `${target.name}: ${messageOf(error)}`, remoteNext(error, place));
}

/** Why no connection is made within the time; undefined if one is, which is closed at once. */
async function connectError(target: SidecarTarget, timeoutMs: number): Promise<NodeJS.ErrnoException | undefined> {
	let socket: Socket | undefined;
	let timer: NodeJS.Timeout | undefined;
	try {
		return await new Promise((resolve) => {
			const opened = target.open();
			socket = opened.socket;
			socket.once(opened.connected, () => resolve(undefined));
			socket.on('error', (cause) => {
				resolve(cause);
			});
			timer = setTimeout(() => {
				const silent = `no connection was accepted within ${formatDuration(timeoutMs)}`;
				resolve(Object.assign(new Error(silent), { code: 'ETIMEDOUT' }));
			}, timeoutMs);
		});
	} catch (error) {
		// A directory that others may change is refused before a connection is tried.
		return error as Error;
	} finally {
		clearTimeout(timer);
		socket?.destroy();
	}
}

function fileFinding(path: string, error: NodeJS.ErrnoException, { isPod, command }: Place): Finding {
	const logs = isPod ? 'its log (`kubectl logs POD -c sidecar`) and restarts (`kubectl get pod`)' : 'its log';
	switch (error.code) {
		case 'ENOENT': {
			const directory = dirname(path);
			if (lookAt(directory) === undefined) {
				const mount = isPod ? 'mount the shared volume at the same path in both containers' : 'create it';
				return failed(
					'socket',
					`the directory ${directory} does not exist`,
					`${mount}; or compare SPOCK_SOCKET on both sides`,
				);
			}
			const start = isPod
				? "wait for the sidecar's container (`kubectl get pod`)"
				: `start one with \`${command} start\``;
			const found = `nothing exists at ${path}`;
			return failed('socket', found, `${start}; if one runs, compare SPOCK_SOCKET and --socket on both sides`);
		}
		case 'ECONNREFUSED':
			return failed(
				'socket',
				`${path} is stale: no process listens on it, so its sidecar has died or is just starting`,
				isPod ? `look at ${logs}: the memory limit, the last line` : `start it again: \`${command} start\``,
			);
		case 'ENOTSOCK':
			return failed('socket', `${path} is not a socket`, 'name the socket: --socket or SPOCK_SOCKET');
		case 'EACCES':
		case 'EPERM':
			return failed('socket', forbiddenText(path), forbiddenNext(isPod));
		case 'ETIMEDOUT':
			return failed('socket', error.message, `the sidecar's process is stopped or lacks CPU: look at ${logs}`);
		default:
			// An untrusted directory says what to do itself.
			return failed('socket', messageOf(error), null);
	}
}

function forbiddenText(path: string): string {
	const [socket, directory] = [lookAt(path), lookAt(dirname(path))];
	const [uid, gid] = [process.getuid?.(), process.getgid?.()];
	const who = `this process, user ${uid} and group ${gid}, may not connect to ${path}`;
	if (socket !== undefined) return `${who}, which is ${accessOf(socket)}`;
	return directory === undefined ? who : `${who}: it may not enter the directory, which is ${accessOf(directory)}`;
}

function accessOf({ uid, gid, mode }: BigIntStats): string {
	return `of user ${uid} and group ${gid} with mode ${(mode & 0o777n).toString(8).padStart(4, '0')}`;
}

function forbiddenNext(isPod: boolean): string {
	if (isPod)
		return 'give both containers the same fsGroup (securityContext of the pod), or start the sidecar with --socket-mode 0666';
	return "run this as the sidecar's user or in the socket's group, or start the sidecar with another --socket-mode";
}

function remoteNext({ code }: NodeJS.ErrnoException, { isPod }: Place): string | null {
	if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'check the host name in --connect';
	if (code?.includes('CERT') || code?.includes('SSL') || code?.includes('ISSUER')) {
		return 'name the authority that issued its certificate: --tls-ca or SPOCK_CONNECT_CA; see also the name and the dates in it';
	}
	if (code !== 'ECONNREFUSED' && code !== 'ETIMEDOUT' && code !== 'EHOSTUNREACH') return null;
	const policy = isPod ? ', and a NetworkPolicy that allows it' : '';
	return `check that a sidecar was started with --listen at this address${policy}`;
}

/** Undefined for what is missing or may not be looked at. */
function lookAt(path: string): BigIntStats | undefined {
	try {
		return statOf(path);
	} catch {
		// To look at it takes the right to enter its directory.
		return undefined;
	}
}
