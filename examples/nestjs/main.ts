// A NestJS app that starts when its sidecar is there, registers itself, and at Ctrl-C or SIGTERM leaves in the right order.
//   npx --no-install pnpm --filter @spock/example-nestjs run build && node examples/nestjs/dist/main.js
import { NestFactory } from '@nestjs/core';

import { AppModule } from './app.ts';

const app = await NestFactory.create(AppModule);
// Without it nothing is deregistered or drained at a signal.
app.enableShutdownHooks();
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1');
console.log(`waiter listens at ${await app.getUrl()}`);
