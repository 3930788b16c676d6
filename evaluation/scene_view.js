// The 3-D view of a report: particles by step, the robot's surface, cameras. Data: evaluation/scene_view.cpp.
// WebGL where the browser has it, else a 2-D canvas with a depth buffer. World frame, metres, z up.
'use strict';
(() => {
  const root = document.getElementById('scene');
  const scene = JSON.parse(document.getElementById('scene-data').textContent);
  const part = (name) => root.querySelector('.scene-' + name);
  const canvas = part('canvas'), slider = part('step'), play = part('play');
  const FIELD_OF_VIEW = 0.7, NEAR_SHARE = 0.01, FAR_SHARE = 100;

  // ---- data: base64, little-endian
  const bytesOf = (base64) => {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    return bytes;
  };
  const shortsOf = (base64) => new Uint16Array(bytesOf(base64).buffer);
  const floatsOf = (base64) => new Float32Array(bytesOf(base64).buffer);
  const positionsOf = (base64, grid) => {
    const codes = shortsOf(base64), positions = new Float32Array(codes.length);
    for (let i = 0; i < codes.length; ++i) positions[i] = grid.low_m[i % 3] + codes[i] * grid.step_m[i % 3];
    return positions;
  };
  // Bodies of particles: 65535 stands still, of 65534 the motion is unknown: such are not drawn.
  const UNKNOWN = 65534;
  const known = (rows, width, bodies) => rows.filter((_, i) => bodies[Math.floor(i / width)] !== UNKNOWN);
  // What rigid bodies carry: `carry` has rows of [R|t] for each step after 0 and each body.
  const carried = (start, bodies, motion, step) => {
    if (step > motion.step_count) return null;
    const out = start.slice(), m = motion.matrices, first = (step - 1) * motion.body_count;
    for (let i = 0; i < bodies.length; ++i) {
      if (step === 0 || bodies[i] > UNKNOWN) continue;
      const at = 12 * (first + bodies[i]), k = 3 * i, x = start[k], y = start[k + 1], z = start[k + 2];
      for (let row = 0; row < 3; ++row) {
        const r = at + 4 * row;
        out[k + row] = m[r] * x + m[r + 1] * y + m[r + 2] * z + m[r + 3];
      }
    }
    return out;
  };
  const remember = (make) => {
    const made = new Map();
    return (step) => {
      if (!made.has(step)) made.set(step, make(step));
      return made.get(step);
    };
  };
  const mixed = (colors, tint, share) => {
    const out = new Uint8Array(colors.length);
    for (let i = 0; i < colors.length; ++i) out[i] = colors[i] * (1 - share) + tint[i % 3] * share;
    return out;
  };
  const painted = (count, color) => mixed(new Uint8Array(3 * count), color, 1);

  // ---- layers: name, colour of the swatch, positions by step, colours
  const layers = [];
  const addLayer = (name, swatch, isShown, colors, positionsAt, sizeM) =>
    layers.push({name, swatch, isShown, colors, positionsAt: remember(positionsAt), sizeM});
  const particles = scene.particles, particleColors = bytesOf(particles.colors);
  const predictedAt = remember((step) => positionsOf(particles.positions[step], particles.grid));
  const TINTS = {truth: [0, 158, 115], kinematic: [213, 94, 0]}, ROBOT = [150, 157, 170], TINT_SHARE = 0.6;
  addLayer('prediction', null, true, particleColors, predictedAt, particles.size_m);
  for (const motion of scene.motions) {
    motion.matrices = floatsOf(motion.carry);
    const all = shortsOf(motion.bodies), tint = TINTS[motion.name];
    const bodies = known(all, 1, all), start = known(predictedAt(0), 3, all);
    addLayer(motion.name, tint, false, mixed(known(particleColors, 3, all), tint, TINT_SHARE),
             (step) => carried(start, bodies, motion, step), particles.size_m);
  }
  if (scene.robot) {
    const start = positionsOf(scene.robot.positions, scene.robot.grid), links = shortsOf(scene.robot.links);
    addLayer('robot as commanded', ROBOT, false, painted(links.length, ROBOT),
             (step) => carried(start, links, scene.motions[scene.robot.motion], step), scene.robot.size_m);
  }

  // ---- lines: cameras and the workspace
  const low = scene.workspace.low_m, high = scene.workspace.high_m;
  const middle = low.map((value, axis) => (value + high[axis]) / 2);
  const extent = Math.hypot(...low.map((value, axis) => high[axis] - value));
  const CAMERA_COLOR = [47, 134, 201], BOX_COLOR = [138, 143, 152];
  const lines = (color) => ({positions: [], color});
  const boxLines = lines(BOX_COLOR), cameraLines = lines(CAMERA_COLOR);
  const corner = (bits) => low.map((value, axis) => ((bits >> axis) & 1 ? high[axis] : value));
  for (let bits = 0; bits < 8; ++bits) {
    for (let axis = 0; axis < 3; ++axis) {
      if (!((bits >> axis) & 1)) boxLines.positions.push(...corner(bits), ...corner(bits | (1 << axis)));
    }
  }
  const tags = scene.cameras.map((camera) => {
    const m = camera.world_from_camera, depth = 0.1 * extent;
    const inWorld = (u, v, z) => {
      const x = ((u - camera.cx_px) / camera.fx_px) * z, y = ((v - camera.cy_px) / camera.fy_px) * z;
      return [0, 1, 2].map((row) => m[4 * row] * x + m[4 * row + 1] * y + m[4 * row + 2] * z + m[4 * row + 3]);
    };
    const eye = inWorld(0, 0, 0), w = camera.width_px, h = camera.height_px;
    const frame = [[0, 0], [w, 0], [w, h], [0, h]].map(([u, v]) => inWorld(u, v, depth));
    frame.forEach((point, i) => cameraLines.positions.push(...eye, ...point, ...point, ...frame[(i + 1) % 4]));
    const roof = inWorld(w / 2, -0.3 * h, depth);  // says which way is up
    cameraLines.positions.push(...frame[0], ...roof, ...roof, ...frame[1]);
    const element = document.createElement('span');
    element.className = 'scene-tag';
    element.textContent = camera.name;
    part('stage').append(element);
    return {element, eye};
  });
  let hasCameras = true;

  // ---- the eye: turns around a point; starts where the cameras are
  // The middle of most particles, whatever few of them have flown off.
  const centre = [0, 1, 2].map((axis) => {
    const values = predictedAt(0).filter((_, i) => i % 3 === axis).sort(), margin = values.length >> 4;
    return (values[margin] + values[values.length - 1 - margin]) / 2;
  });
  const start = () => {
    const away = [0, 0];
    for (const {eye} of tags) {
      const x = eye[0] - middle[0], y = eye[1] - middle[1], length = Math.hypot(x, y) || 1;
      away[0] += x / length;
      away[1] += y / length;
    }
    const isOneSided = Math.hypot(...away) > 0.3;
    const view = {yaw: isOneSided ? Math.atan2(away[1], away[0]) : -Math.PI / 3, pitch: 0.6, target: centre.slice()};
    return {...view, distance: distanceOfBox(view)};
  };
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const axesOf = ({yaw, pitch}) => {
    const back = [Math.cos(yaw) * Math.cos(pitch), Math.sin(yaw) * Math.cos(pitch), Math.sin(pitch)];
    const right = [-Math.sin(yaw), Math.cos(yaw), 0];
    return {right, up: cross(back, right), back};
  };
  // From where all corners of the workspace are in the picture.
  const distanceOfBox = (view) => {
    const {right, up, back} = axesOf(view), height = 0.95 * Math.tan(FIELD_OF_VIEW / 2);
    const width = height * (canvas.clientWidth / canvas.clientHeight || 1);
    return Math.max(...[0, 1, 2, 3, 4, 5, 6, 7].map((bits) => {
      const away = corner(bits).map((value, axis) => value - view.target[axis]);
      return dot(away, back) + Math.max(Math.abs(dot(away, right)) / width, Math.abs(dot(away, up)) / height);
    }));
  };
  let eye = start();
  // Column-major clip_from_world.
  const viewMatrix = () => {
    const {right, up, back} = axesOf(eye);
    const place = eye.target.map((value, axis) => value + eye.distance * back[axis]);
    const f = 1 / Math.tan(FIELD_OF_VIEW / 2), aspect = canvas.width / canvas.height;
    const near = NEAR_SHARE * eye.distance, far = FAR_SHARE * eye.distance;
    const a = -(far + near) / (far - near), b = (-2 * far * near) / (far - near);
    const rows = [right.map((v) => (v * f) / aspect), up.map((v) => v * f), back.map((v) => v * a), back.map((v) => -v)];
    const last = [-dot(right, place) * f / aspect, -dot(up, place) * f, -dot(back, place) * a + b, dot(back, place)];
    return new Float32Array([0, 1, 2, 3].flatMap((c) => [0, 1, 2, 3].map((r) => (c < 3 ? rows[r][c] : last[r]))));
  };
  const project = (m, x, y, z) => {
    const w = m[3] * x + m[7] * y + m[11] * z + m[15];
    if (w <= NEAR_SHARE * eye.distance) return null;
    return [(0.5 + (m[0] * x + m[4] * y + m[8] * z + m[12]) / w / 2) * canvas.width,
            (0.5 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / w / 2) * canvas.height, w];
  };
  const pixelsAtOneMetre = () => canvas.height / (2 * Math.tan(FIELD_OF_VIEW / 2));
  const MIN_POINT_PX = 2, MAX_POINT_PX = 48;

  // ---- drawing with WebGL
  const webgl = () => {
    // The kept buffer is what a printer gets.
    const gl = canvas.getContext('webgl', {alpha: true, antialias: false, preserveDrawingBuffer: true});
    if (!gl) return null;
    const shader = (kind, source) => {
      const made = gl.createShader(kind);
      gl.shaderSource(made, source);
      gl.compileShader(made);
      return made;
    };
    let program, places, buffers;
    const setUp = () => {
      program = gl.createProgram();
      gl.attachShader(program, shader(gl.VERTEX_SHADER, `
        attribute vec3 position; attribute vec3 color; uniform mat4 view; uniform float size; varying vec3 shade;
        void main() {
          gl_Position = view * vec4(position, 1.0);
          gl_PointSize = clamp(size / gl_Position.w, ${MIN_POINT_PX}.0, ${MAX_POINT_PX}.0);
          shade = color;
        }`));
      gl.attachShader(program, shader(gl.FRAGMENT_SHADER, `
        precision mediump float; varying vec3 shade; uniform float round;
        void main() {
          vec2 from_middle = round * (gl_PointCoord - 0.5);
          float r2 = dot(from_middle, from_middle);
          if (r2 > 0.25) discard;
          gl_FragColor = vec4(shade * (1.0 - 0.8 * r2), 1.0);
        }`));
      gl.linkProgram(program);
      if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return false;
      places = {};
      for (const name of ['position', 'color']) places[name] = gl.getAttribLocation(program, name);
      for (const name of ['view', 'size', 'round']) places[name] = gl.getUniformLocation(program, name);
      buffers = new Map();
      return true;
    };
    if (!setUp()) return null;
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    canvas.addEventListener('webglcontextrestored', () => setUp() && redraw());
    const bind = (data) => {
      if (!buffers.has(data)) {
        buffers.set(data, gl.createBuffer());
        gl.bindBuffer(gl.ARRAY_BUFFER, buffers.get(data));
        gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers.get(data));
    };
    return (shown, drawnLines, view) => {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.enable(gl.DEPTH_TEST);
      gl.useProgram(program);
      gl.uniformMatrix4fv(places.view, false, view);
      gl.enableVertexAttribArray(places.position);
      gl.uniform1f(places.round, 1);
      gl.enableVertexAttribArray(places.color);
      for (const {positions, colors, sizeM} of shown) {
        bind(positions);
        gl.vertexAttribPointer(places.position, 3, gl.FLOAT, false, 0, 0);
        bind(colors);
        gl.vertexAttribPointer(places.color, 3, gl.UNSIGNED_BYTE, true, 0, 0);
        gl.uniform1f(places.size, sizeM * pixelsAtOneMetre());
        gl.drawArrays(gl.POINTS, 0, positions.length / 3);
      }
      gl.uniform1f(places.round, 0);
      gl.disableVertexAttribArray(places.color);
      for (const {positions, color} of drawnLines) {
        bind(positions);
        gl.vertexAttribPointer(places.position, 3, gl.FLOAT, false, 0, 0);
        gl.vertexAttrib3f(places.color, ...color.map((value) => value / 255));
        gl.drawArrays(gl.LINES, 0, positions.length / 3);
      }
    };
  };

  // ---- drawing without it
  const flat = () => {
    const context = canvas.getContext('2d');
    return (shown, drawnLines, view) => {
      const {width, height} = canvas, image = context.createImageData(width, height);
      const pixels = new Uint32Array(image.data.buffer), depths = new Float32Array(width * height).fill(Infinity);
      for (const {positions, colors, sizeM} of shown) {
        const size = sizeM * pixelsAtOneMetre();
        for (let i = 0; i < positions.length; i += 3) {
          const point = project(view, positions[i], positions[i + 1], positions[i + 2]);
          if (!point) continue;
          const side = Math.min(Math.max(size / point[2], MIN_POINT_PX), MAX_POINT_PX);
          const color = 0xff000000 | (colors[i + 2] << 16) | (colors[i + 1] << 8) | colors[i];
          const left = Math.max(0, Math.round(point[0] - side / 2)), right = Math.min(width, Math.round(point[0] + side / 2));
          const bottom = Math.min(height, Math.round(point[1] + side / 2));
          for (let y = Math.max(0, Math.round(point[1] - side / 2)); y < bottom; ++y) {
            for (let x = left; x < right; ++x) {
              if (point[2] >= depths[y * width + x]) continue;
              depths[y * width + x] = point[2];
              pixels[y * width + x] = color;
            }
          }
        }
      }
      context.putImageData(image, 0, 0);
      for (const {positions, color} of drawnLines) {
        context.strokeStyle = `rgb(${color})`;
        context.beginPath();
        for (let i = 0; i < positions.length; i += 6) {
          const from = project(view, positions[i], positions[i + 1], positions[i + 2]);
          const to = project(view, positions[i + 3], positions[i + 4], positions[i + 5]);
          if (!from || !to) continue;
          context.moveTo(from[0], from[1]);
          context.lineTo(to[0], to[1]);
        }
        context.stroke();
      }
    };
  };
  for (const group of [boxLines, cameraLines]) group.positions = new Float32Array(group.positions);
  const draw = webgl() || flat();

  const render = () => {
    const step = Number(slider.value), view = viewMatrix();
    const shown = layers.filter((layer) => layer.isShown)
      .map(({positionsAt, colors, sizeM}) => ({positions: positionsAt(step), colors, sizeM}))
      .filter(({positions}) => positions);
    draw(shown, hasCameras ? [boxLines, cameraLines] : [boxLines], view);
    for (const {element, eye: place} of tags) {
      const point = hasCameras && project(view, ...place);
      element.hidden = !point || point[0] < 0 || point[0] > canvas.width || point[1] < 0 || point[1] > canvas.height;
      if (element.hidden) continue;
      element.style.left = `${(100 * point[0]) / canvas.width}%`;
      element.style.top = `${(100 * point[1]) / canvas.height}%`;
    }
  };
  let isAsked = false;
  const redraw = () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      render();
    });
  };

  // ---- steps
  const showStep = (step) => {
    slider.value = step;
    const text = step === 0 ? 'step 0 (now)' : `step ${step} (+${+(step * scene.step_duration_s).toFixed(3)} s)`;
    slider.setAttribute('aria-valuetext', text);
    const missing = layers.filter((layer) => layer.isShown && !layer.positionsAt(step)).map(({name}) => name);
    part('now').textContent = text + (missing.length ? `; ${missing.join(', ')}: not recorded` : '');
    redraw();
  };
  const last = particles.positions.length - 1, SHORTEST_MS = 150;
  let timer = null;
  const togglePlay = () => {
    if (timer === null) {
      const next = () => showStep(Number(slider.value) === last ? 0 : Number(slider.value) + 1);
      timer = setInterval(next, Math.max(SHORTEST_MS, 1000 * scene.step_duration_s));
    } else {
      clearInterval(timer);
      timer = null;
    }
    play.textContent = timer === null ? 'Play' : 'Pause';
  };
  slider.max = last;
  slider.addEventListener('input', () => showStep(Number(slider.value)));
  play.addEventListener('click', togglePlay);

  // ---- layers
  const addBox = (name, swatch, isChecked, onChange) => {
    const label = document.createElement('label'), box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = isChecked;
    box.addEventListener('change', () => {
      onChange(box.checked);
      showStep(Number(slider.value));
    });
    label.append(box);
    if (swatch) {
      const mark = document.createElement('i');
      mark.style.background = `rgb(${swatch})`;
      label.append(mark);
    }
    label.append(name);
    part('layers').append(label);
  };
  for (const layer of layers) addBox(layer.name, layer.swatch, layer.isShown, (on) => { layer.isShown = on; });
  addBox('cameras', CAMERA_COLOR, true, (on) => { hasCameras = on; });

  // ---- turning, moving, zooming
  const turn = (yaw, pitch) => {
    eye.yaw += yaw;
    eye.pitch = Math.min(Math.max(eye.pitch + pitch, -1.5), 1.5);
    redraw();
  };
  const move = (dx_px, dy_px) => {
    const {right, up} = axesOf(eye), metres = (2 * eye.distance * Math.tan(FIELD_OF_VIEW / 2)) / canvas.clientHeight;
    eye.target = eye.target.map((value, axis) => value + metres * (dy_px * up[axis] - dx_px * right[axis]));
    redraw();
  };
  const zoom = (factor) => {
    eye.distance = Math.min(Math.max(eye.distance * factor, 0.05 * extent), 10 * extent);
    redraw();
  };
  const reset = () => {
    eye = start();
    redraw();
  };
  const TURN = 0.1, MOVE_PX = 20, ZOOM = 1.15, RADIANS_A_PIXEL = 0.006;
  const keys = {
    ArrowLeft: (shift) => (shift ? move(MOVE_PX, 0) : turn(-TURN, 0)),
    ArrowRight: (shift) => (shift ? move(-MOVE_PX, 0) : turn(TURN, 0)),
    ArrowUp: (shift) => (shift ? move(0, MOVE_PX) : turn(0, TURN)),
    ArrowDown: (shift) => (shift ? move(0, -MOVE_PX) : turn(0, -TURN)),
    '+': () => zoom(1 / ZOOM), '=': () => zoom(1 / ZOOM), '-': () => zoom(ZOOM), ' ': togglePlay, Home: reset,
  };
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key](event.shiftKey);
  });
  const pointers = new Map();
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  canvas.addEventListener('pointermove', (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY], dx = now[0] - before[0], dy = now[1] - before[1];
    pointers.set(event.pointerId, now);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const apart = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
      zoom(apart(before) / apart(now));
    } else if (event.shiftKey || (event.buttons & 2)) {
      move(dx, dy);
    } else {
      turn(-RADIANS_A_PIXEL * dx, RADIANS_A_PIXEL * dy);
    }
  });
  for (const name of ['pointerup', 'pointercancel']) canvas.addEventListener(name, (event) => pointers.delete(event.pointerId));
  canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  // A page that is scrolled past the view scrolls on: the wheel zooms once the view was clicked.
  canvas.addEventListener('wheel', (event) => {
    if (document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(0.001 * event.deltaY));
  }, {passive: false});
  part('reset').addEventListener('click', reset);

  const MOST_PIXELS_A_POINT = 2;
  new ResizeObserver(() => {
    const scale = Math.min(window.devicePixelRatio || 1, MOST_PIXELS_A_POINT);
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale));
    render();
  }).observe(canvas);
  root.hidden = false;
  showStep(0);
})();
