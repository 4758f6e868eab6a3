import {
	encodePayload,
	encodeRequest,
	encodeRequestTail,
	FRAME_BYTES_MAX_CEILING,
	type FuncName,
	type FuncReply,
	readSidecarMessage,
	SpockError,
	type StatusReply,
} from '@spock/protocol';
import { FramedSocket } from '@spock/protocol/node';

import { asCommandError, connectionError, timeoutError } from '../client/failures.ts';
import {
	type ClientFlags,
	type SidecarTarget,
	type TargetFlags,
	targetOf,
	timeoutOf,
} from '../client/sidecar-target.ts';
import { CommandError, EXIT, print } from '../output/output.ts';

/** What a sidecar says of its readiness, in words where it is not ready. */
export interface ReadyAnswer {
	readonly status: StatusReply;
	/** Undefined if it is ready. */
	readonly notReady: string | undefined;
}

/** Asks a sidecar whether it is ready. Rejects with a CommandError if it does not say. */
export async function askReady(flags: TargetFlags, timeoutMs: number): Promise<ReadyAnswer> {
	const status = await askOnce(targetOf(flags), 'status', timeoutMs);
	return { status, notReady: status.ready ? undefined : reasonOf(status) };
}

function reasonOf({ phase, reasons, backend }: StatusReply): string {
	if (reasons.length > 0) return reasons.join('; ');
	const reason =
		phase === 'serving' ? `the backend ${backend.name} is ${backend.state}` : `the sidecar is in phase ${phase}`;
	return `${reason}${backend.error === null ? '' : ` (${backend.error})`}`;
}

/** `sidecar health` */
export async function health(flags: ClientFlags): Promise<void> {
	const { status, notReady } = await askReady(flags, timeoutOf(flags));
	const { ready, reasons, phase, backend } = status;
	if (flags.json) print(JSON.stringify({ ready, reasons, phase, backend }));
	if (notReady !== undefined) throw new CommandError(EXIT.failure, `not ready: ${notReady}`, { code: 'NOT_READY' });
	if (!flags.json) print(['ready', ...reasons].join(': '));
}

const HELLO_ID = 1;
const ID = 2;

/**
 * Asks one question on a connection of its own, for `health` and `wait`: a probe each second must not pay for a client with
 * snapshots and reconnects, which takes 6 ms of CPU longer to load. All other commands use `withClient`. Rejects with a CommandError.
 */
async function askOnce<F extends FuncName>(target: SidecarTarget, func: F, timeoutMs: number): Promise<FuncReply<F>> {
	let timer: NodeJS.Timeout | undefined;
	let framed: FramedSocket | undefined;
	try {
		return await new Promise<FuncReply<F>>((resolve, reject) => {
			let wasConnected = false;
			const { socket, connected } = opened(target);
			socket.once(connected, () => {
				wasConnected = true;
			});
			timer = setTimeout(() => reject(timeoutError(target, timeoutMs, wasConnected)), timeoutMs);
			const onFrame = (text: string): void => {
				const message = readSidecarMessage(text);
				if (message.kind === 'failure' && message.id !== null)
					reject(asCommandError(SpockError.fromWire(message.error)));
				if (message.kind === 'reply' && message.id === ID) resolve(message.data as FuncReply<F>);
			};
			const onClosed = (cause?: Error): void => reject(connectionError(target, cause, { socket, wasConnected }));
			const port = { frame: onFrame, fault: () => undefined, closed: onClosed };
			// It must take whatever a sidecar may send.
			framed = new FramedSocket(socket, port, { frameBytesMax: FRAME_BYTES_MAX_CEILING });
			const { token } = target;
			if (token !== undefined) write(framed, HELLO_ID, 'hello', { versions: [1], client: 'sidecar', token }, timeoutMs);
			write(framed, ID, func, null, timeoutMs);
		});
	} finally {
		clearTimeout(timer);
		framed?.destroy();
	}
}

function opened(target: SidecarTarget): ReturnType<SidecarTarget['open']> {
	try {
		return target.open();
	} catch (error) {
		throw connectionError(target, error as Error, { socket: undefined, wasConnected: false });
	}
}

function write(framed: FramedSocket, id: number, func: FuncName, data: unknown, timeoutMs: number): void {
	framed.write(encodeRequest(id, encodeRequestTail(func, encodePayload(data), timeoutMs)));
}
