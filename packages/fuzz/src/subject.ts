import { connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';

import { createDiplomat } from '@spock/client';
import {
	encodeCancel,
	encodeFailure,
	encodePayload,
	encodePush,
	encodeReply,
	encodeRequest,
	encodeRequestTail,
	encodeTrace,
	FrameDecoder,
	type FrameDecoderOptions,
	type FrameSink,
	readClientMessage,
	readSidecarMessage,
	validateFuncData,
} from '@spock/protocol';
import { createSidecar, type SidecarOptions } from '@spock/sidecar';

/** What the fuzz compares with the reference. Tests replace a part with a faulty one, to prove that the fuzz finds the fault. */
export interface Subject {
	createDecoder(sink: FrameSink, options: FrameDecoderOptions): Pick<FrameDecoder, 'push' | 'hold' | 'release'>;
	readonly readClientMessage: typeof readClientMessage;
	readonly readSidecarMessage: typeof readSidecarMessage;
	readonly validateFuncData: typeof validateFuncData;
	readonly encodeCancel: typeof encodeCancel;
	readonly encodeFailure: typeof encodeFailure;
	readonly encodePayload: typeof encodePayload;
	readonly encodePush: typeof encodePush;
	readonly encodeReply: typeof encodeReply;
	readonly encodeRequest: typeof encodeRequest;
	readonly encodeRequestTail: typeof encodeRequestTail;
	readonly encodeTrace: typeof encodeTrace;
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
	createDecoder: (sink, options) => new FrameDecoder(sink, options),
	readClientMessage,
	readSidecarMessage,
	validateFuncData,
	encodeCancel,
	encodeFailure,
	encodePayload,
	encodePush,
	encodeReply,
	encodeRequest,
	encodeRequestTail,
	encodeTrace,
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
