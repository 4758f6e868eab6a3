/** What a store is, and where. */
export interface StorePlace {
	readonly kind: 'grpc' | 'sidecar';
	/** Of a modelled disk. Absent: the disk of this machine. */
	readonly syncMs?: number;
	/** Where it writes. */
	readonly directory: string;
	/** Of the loopback address. */
	readonly port: number;
}

/** Where a gRPC store writes messages one behind the other, if its disk is that of the machine. */
export const GRPC_FILE = 'grpc-store';
