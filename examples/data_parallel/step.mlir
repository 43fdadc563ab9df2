// Trains an MLP 64 -> 128 -> 64 -> 10 by gradient descent, in steps that several devices can share.
//
// The images lie on every device, in shards of 16. A device calls @gradients for its shards of a step; every
// call adds to the same sums. @accumulate_<node> adds what another device has summed up, which it finds in the
// merge buffer. @update changes the parameters, and @clear makes the sums zero for the next step.

graph.tnode @images : tensor<89x16x64xui8> mode hosted(constant)
graph.tnode @labels : tensor<89x16xui8> mode hosted(constant)

// The learning rate divided by the number of images of a step, since gradients are sums.
graph.tnode @rate : tensor<f32>

graph.tnode @w1 : tensor<64x128xf32>
graph.tnode @b1 : tensor<128xf32>
graph.tnode @w2 : tensor<128x64xf32>
graph.tnode @b2 : tensor<64xf32>
graph.tnode @w3 : tensor<64x10xf32>
graph.tnode @b3 : tensor<10xf32>

graph.tnode @w1_grad : tensor<64x128xf32>
graph.tnode @b1_grad : tensor<128xf32>
graph.tnode @w2_grad : tensor<128x64xf32>
graph.tnode @b2_grad : tensor<64xf32>
graph.tnode @w3_grad : tensor<64x10xf32>
graph.tnode @b3_grad : tensor<10xf32>
graph.tnode @loss : tensor<f32>

// Adds the cross-entropy of the images of one shard, and its gradient by every parameter.
func.func @gradients(%shard: index) {
  %bytes = graph.read @images[%shard] : tensor<16x64xui8>
  %pixels = graph.cast %bytes : tensor<16x64xui8> -> tensor<16x64xf32>
  %scale = graph.constant dense<0.0625> : tensor<16x64xf32>
  %x = graph.mul %pixels, %scale : tensor<16x64xf32>
  %labels = graph.read @labels[%shard] : tensor<16xui8>
  %digits = graph.cast %labels : tensor<16xui8> -> tensor<16xi32>
  %column = graph.reshape %digits : tensor<16xi32> -> tensor<16x1xi32>
  %label = graph.broadcast %column : tensor<16x1xi32> -> tensor<16x10xi32>
  %digit = graph.iota axis 1 : tensor<16x10xi32>
  %is_label = graph.eq %label, %digit : tensor<16x10xi32>
  %one_hot = graph.cast %is_label : tensor<16x10xi1> -> tensor<16x10xf32>
  %w1 = graph.read @w1 : tensor<64x128xf32>
  %b1 = graph.read @b1 : tensor<128xf32>
  %w2 = graph.read @w2 : tensor<128x64xf32>
  %b2 = graph.read @b2 : tensor<64xf32>
  %w3 = graph.read @w3 : tensor<64x10xf32>
  %b3 = graph.read @b3 : tensor<10xf32>

  %product1 = graph.contract %x, %w1 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x64xf32>, tensor<64x128xf32> -> tensor<16x128xf32>
  %bias1 = graph.broadcast %b1 : tensor<128xf32> -> tensor<16x128xf32>
  %sum1 = graph.add %product1, %bias1 : tensor<16x128xf32>
  %hidden1 = graph.relu %sum1 : tensor<16x128xf32>

  %product2 = graph.contract %hidden1, %w2 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x128xf32>, tensor<128x64xf32> -> tensor<16x64xf32>
  %bias2 = graph.broadcast %b2 : tensor<64xf32> -> tensor<16x64xf32>
  %sum2 = graph.add %product2, %bias2 : tensor<16x64xf32>
  %hidden2 = graph.relu %sum2 : tensor<16x64xf32>

  %product3 = graph.contract %hidden2, %w3 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x64xf32>, tensor<64x10xf32> -> tensor<16x10xf32>
  %bias3 = graph.broadcast %b3 : tensor<10xf32> -> tensor<16x10xf32>
  %scores = graph.add %product3, %bias3 : tensor<16x10xf32>

  %max = graph.reduce max %scores axes [1] keep : tensor<16x10xf32> -> tensor<16x1xf32>
  %base = graph.broadcast %max : tensor<16x1xf32> -> tensor<16x10xf32>
  %difference = graph.sub %scores, %base : tensor<16x10xf32>
  %exponential = graph.exp %difference : tensor<16x10xf32>
  %total = graph.reduce add %exponential axes [1] keep : tensor<16x10xf32> -> tensor<16x1xf32>
  %denominator = graph.broadcast %total : tensor<16x1xf32> -> tensor<16x10xf32>
  %probabilities = graph.div %exponential, %denominator : tensor<16x10xf32>
  %log_total = graph.log %total : tensor<16x1xf32>
  %log_denominator = graph.broadcast %log_total : tensor<16x1xf32> -> tensor<16x10xf32>
  %surprise = graph.sub %log_denominator, %difference : tensor<16x10xf32>
  %losses = graph.mul %surprise, %one_hot : tensor<16x10xf32>
  %loss = graph.reduce add %losses axes [0, 1] : tensor<16x10xf32> -> tensor<f32>
  graph.write add @loss, %loss : tensor<f32>

  // Backwards: d_<value> is the derivative of the loss by that value.
  %d_scores = graph.sub %probabilities, %one_hot : tensor<16x10xf32>
  %d_w3 = graph.contract %hidden2, %d_scores maps [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x64xf32>, tensor<16x10xf32> -> tensor<64x10xf32>
  %d_b3 = graph.reduce add %d_scores axes [0] : tensor<16x10xf32> -> tensor<10xf32>
  graph.write add @w3_grad, %d_w3 : tensor<64x10xf32>
  graph.write add @b3_grad, %d_b3 : tensor<10xf32>

  %d_hidden2 = graph.contract %d_scores, %w3 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x10xf32>, tensor<64x10xf32> -> tensor<16x64xf32>
  %zero2 = graph.constant dense<0.0> : tensor<16x64xf32>
  %is_open2 = graph.gt %sum2, %zero2 : tensor<16x64xf32>
  %d_sum2 = graph.select %is_open2, %d_hidden2, %zero2 : tensor<16x64xf32>
  %d_w2 = graph.contract %hidden1, %d_sum2 maps [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x128xf32>, tensor<16x64xf32> -> tensor<128x64xf32>
  %d_b2 = graph.reduce add %d_sum2 axes [0] : tensor<16x64xf32> -> tensor<64xf32>
  graph.write add @w2_grad, %d_w2 : tensor<128x64xf32>
  graph.write add @b2_grad, %d_b2 : tensor<64xf32>

  %d_hidden1 = graph.contract %d_sum2, %w2 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x64xf32>, tensor<128x64xf32> -> tensor<16x128xf32>
  %zero1 = graph.constant dense<0.0> : tensor<16x128xf32>
  %is_open1 = graph.gt %sum1, %zero1 : tensor<16x128xf32>
  %d_sum1 = graph.select %is_open1, %d_hidden1, %zero1 : tensor<16x128xf32>
  %d_w1 = graph.contract %x, %d_sum1 maps [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x64xf32>, tensor<16x128xf32> -> tensor<64x128xf32>
  %d_b1 = graph.reduce add %d_sum1 axes [0] : tensor<16x128xf32> -> tensor<128xf32>
  graph.write add @w1_grad, %d_w1 : tensor<64x128xf32>
  graph.write add @b1_grad, %d_b1 : tensor<128xf32>
  func.return
}

// Makes every sum zero.
func.func @clear() {
  %zero_w1 = graph.constant dense<0.0> : tensor<64x128xf32>
  graph.write @w1_grad, %zero_w1 : tensor<64x128xf32>
  %zero_b1 = graph.constant dense<0.0> : tensor<128xf32>
  graph.write @b1_grad, %zero_b1 : tensor<128xf32>
  %zero_w2 = graph.constant dense<0.0> : tensor<128x64xf32>
  graph.write @w2_grad, %zero_w2 : tensor<128x64xf32>
  %zero_b2 = graph.constant dense<0.0> : tensor<64xf32>
  graph.write @b2_grad, %zero_b2 : tensor<64xf32>
  %zero_w3 = graph.constant dense<0.0> : tensor<64x10xf32>
  graph.write @w3_grad, %zero_w3 : tensor<64x10xf32>
  %zero_b3 = graph.constant dense<0.0> : tensor<10xf32>
  graph.write @b3_grad, %zero_b3 : tensor<10xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  graph.write @loss, %zero : tensor<f32>
  func.return
}

// One step down: w = w - rate * w_grad.
func.func @update() {
  %rate = graph.read @rate : tensor<f32>

  %w1 = graph.read @w1 : tensor<64x128xf32>
  %w1_grad = graph.read @w1_grad : tensor<64x128xf32>
  %w1_rate = graph.broadcast %rate : tensor<f32> -> tensor<64x128xf32>
  %w1_change = graph.mul %w1_grad, %w1_rate : tensor<64x128xf32>
  %w1_next = graph.sub %w1, %w1_change : tensor<64x128xf32>
  graph.write @w1, %w1_next : tensor<64x128xf32>

  %b1 = graph.read @b1 : tensor<128xf32>
  %b1_grad = graph.read @b1_grad : tensor<128xf32>
  %b1_rate = graph.broadcast %rate : tensor<f32> -> tensor<128xf32>
  %b1_change = graph.mul %b1_grad, %b1_rate : tensor<128xf32>
  %b1_next = graph.sub %b1, %b1_change : tensor<128xf32>
  graph.write @b1, %b1_next : tensor<128xf32>

  %w2 = graph.read @w2 : tensor<128x64xf32>
  %w2_grad = graph.read @w2_grad : tensor<128x64xf32>
  %w2_rate = graph.broadcast %rate : tensor<f32> -> tensor<128x64xf32>
  %w2_change = graph.mul %w2_grad, %w2_rate : tensor<128x64xf32>
  %w2_next = graph.sub %w2, %w2_change : tensor<128x64xf32>
  graph.write @w2, %w2_next : tensor<128x64xf32>

  %b2 = graph.read @b2 : tensor<64xf32>
  %b2_grad = graph.read @b2_grad : tensor<64xf32>
  %b2_rate = graph.broadcast %rate : tensor<f32> -> tensor<64xf32>
  %b2_change = graph.mul %b2_grad, %b2_rate : tensor<64xf32>
  %b2_next = graph.sub %b2, %b2_change : tensor<64xf32>
  graph.write @b2, %b2_next : tensor<64xf32>

  %w3 = graph.read @w3 : tensor<64x10xf32>
  %w3_grad = graph.read @w3_grad : tensor<64x10xf32>
  %w3_rate = graph.broadcast %rate : tensor<f32> -> tensor<64x10xf32>
  %w3_change = graph.mul %w3_grad, %w3_rate : tensor<64x10xf32>
  %w3_next = graph.sub %w3, %w3_change : tensor<64x10xf32>
  graph.write @w3, %w3_next : tensor<64x10xf32>

  %b3 = graph.read @b3 : tensor<10xf32>
  %b3_grad = graph.read @b3_grad : tensor<10xf32>
  %b3_rate = graph.broadcast %rate : tensor<f32> -> tensor<10xf32>
  %b3_change = graph.mul %b3_grad, %b3_rate : tensor<10xf32>
  %b3_next = graph.sub %b3, %b3_change : tensor<10xf32>
  graph.write @b3, %b3_next : tensor<10xf32>
  func.return
}

func.func @accumulate_w1_grad() {
  %other = graph.merge @w1_grad : tensor<64x128xf32>
  graph.write add @w1_grad, %other : tensor<64x128xf32>
  func.return
}

func.func @accumulate_b1_grad() {
  %other = graph.merge @b1_grad : tensor<128xf32>
  graph.write add @b1_grad, %other : tensor<128xf32>
  func.return
}

func.func @accumulate_w2_grad() {
  %other = graph.merge @w2_grad : tensor<128x64xf32>
  graph.write add @w2_grad, %other : tensor<128x64xf32>
  func.return
}

func.func @accumulate_b2_grad() {
  %other = graph.merge @b2_grad : tensor<64xf32>
  graph.write add @b2_grad, %other : tensor<64xf32>
  func.return
}

func.func @accumulate_w3_grad() {
  %other = graph.merge @w3_grad : tensor<64x10xf32>
  graph.write add @w3_grad, %other : tensor<64x10xf32>
  func.return
}

func.func @accumulate_b3_grad() {
  %other = graph.merge @b3_grad : tensor<10xf32>
  graph.write add @b3_grad, %other : tensor<10xf32>
  func.return
}

func.func @accumulate_loss() {
  %other = graph.merge @loss : tensor<f32>
  graph.write add @loss, %other : tensor<f32>
  func.return
}
