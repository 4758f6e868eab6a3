import type { Sender, SenderPlace } from './sender.ts';

/** Opens the one of a peer; loads what that needs, and nothing else. */
export async function openSender({ peer, address }: SenderPlace): Promise<Sender> {
	if (peer === 'nats') return (await import('./nats-sender.ts')).openNatsSender(address);
	if (peer === 'kafka') return (await import('./kafka-sender.ts')).openKafkaSender(address);
	if (peer === 'dapr') return (await import('./dapr-sender.ts')).openDaprSender(address);
	if (peer === 'grpc') return (await import('./grpc-sender.ts')).openGrpcSender(address);
	return (await import('./spock-sender.ts')).openSpockSender(address, peer);
}
