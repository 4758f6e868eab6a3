// OpenTelemetry as an app sets it up: its loader, and an instrumentation of all that the integrations plug into.
import { register } from 'node:module';

import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { GrpcInstrumentation } from '@opentelemetry/instrumentation-grpc';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
new NodeTracerProvider().register();
const all = [
	GrpcInstrumentation,
	HttpInstrumentation,
	IORedisInstrumentation,
	PgInstrumentation,
	UndiciInstrumentation,
];
registerInstrumentations({ instrumentations: all.map((Instrumentation) => new Instrumentation()) });
