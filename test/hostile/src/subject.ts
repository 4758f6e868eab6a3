import { connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';

import { createDiplomat } from '@spock/client';
import * as protocol from '@spock/protocol';
import { createSidecar, type SidecarOptions } from '@spock/sidecar';

/** What the fuzz asks of the protocol besides its decoder. */
type ProtocolPart =
	| 'readClientMessage'
	| 'readSidecarMessage'
	| 'validateFuncData'
	| 'encodeCancel'
	| 'encodeFailure'
	| 'encodePayload'
	| 'encodePush'
	| 'encodeReply'
	| 'encodeRequest'
	| 'encodeRequestTail'
	| 'encodeTrace';

/** What the fuzz compares with the reference. Tests replace a part with a faulty one, to prove that the fuzz finds the fault. */
export interface Subject extends Readonly<Pick<typeof protocol, ProtocolPart>> {
	createDecoder(
		sink: protocol.FrameSink,
		options: protocol.FrameDecoderOptions,
	): Pick<protocol.FrameDecoder, 'push' | 'hold' | 'release'>;
	readonly createDiplomat: typeof createDiplomat;
	startSidecar(options: SubjectSidecarOptions): Promise<SubjectSidecar>;
	/** How long a sidecar may take to end a connection after its client has ended its side. Only a fault needs all of it. */
	readonly connectionEndMsMax: number;
}

export interface SubjectSidecarOptions extends Pick<SidecarOptions, 'source' | 'limits' | 'observer'> {
	/** Where it listens. */
	readonly path: string;
}

/** A running sidecar, for one case. */
export interface SubjectSidecar {
	/** Opens a connection. The caller ends the input; the output closes when the sidecar has ended its side. */
	connect(): { readonly input: Writable; readonly output: Readable };
	stop(): Promise<void>;
}

/** The product, with nothing replaced. */
export const PRODUCT: Subject = {
	...protocol,
	createDecoder: (sink, options) => new protocol.FrameDecoder(sink, options),
	createDiplomat,
	startSidecar: async ({ path, ...options }) => {
		const sidecar = createSidecar({ ...options, listen: [{ address: { path } }] });
		await sidecar.start();
		return {
			connect: () => {
				const socket = connect({ path, allowHalfOpen: true });
				return { input: socket, output: socket };
			},
			stop: async () => {
				sidecar.terminate();
				await sidecar.ended;
			},
		};
	},
	connectionEndMsMax: 20_000,
};
