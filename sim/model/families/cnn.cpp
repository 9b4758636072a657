// Residual networks: He et al. 2015 with torchvision's details (the stride of a bottleneck is on its 3×3 convolution).
// Running statistics of batch_norm are buffers, not parameters, and are left out.
// Shapes: B images, C channels, h × w pixels.
#include <cmath>
#include <stdexcept>

#include "sim/model/families/families.h"
#include "sim/model/graph_builder.h"

namespace trainwire {
namespace {

struct Window {
  int kernel, stride, padding;
};

std::int64_t windows(std::int64_t side, const Window& w) { return (side + 2 * w.padding - w.kernel) / w.stride + 1; }

Attributes attributes_of(const Window& w) {
  Attributes attributes;
  attributes.kernel = w.kernel;
  attributes.stride = w.stride;
  attributes.padding = w.padding;
  return attributes;
}

class ResNetGraph {
 public:
  ResNetGraph(const ConvNet& net, const Batch& batch) : net_(net), batch_(batch) {}

  Graph build() {
    const std::int64_t image = batch_.sequence > 0 ? batch_.sequence : net_.image;
    int x = g_.tokens({batch_.size, net_.channels, image, image}, DType::fp32);
    g_.targets({batch_.size});
    g_.enter(0);
    x = g_.relu("stem.relu", conv_norm("stem", "", x, net_.width, {7, 2, 3}));
    x = max_pool("stem.pool", x, {3, 2, 1});
    int layer = 0;
    for (std::size_t group = 0; group < net_.blocks.size(); ++group)
      for (std::int64_t i = 0; i < net_.blocks[group]; ++i) {
        g_.enter(++layer);
        const std::string name = "blocks." + std::to_string(layer - 1);
        x = block(name, x, net_.width << group, group > 0 && i == 0 ? 2 : 1);
      }
    g_.enter(layer + 1);
    head(x);
    return g_.take();
  }

 private:
  // Convolution without bias, then batch norm: "name.conv1" and "name.norm1".
  int conv_norm(const std::string& name, const std::string& number, int x, std::int64_t channels, const Window& w) {
    const Shape in = g_.shape(x);
    const std::int64_t h = windows(in[2], w), width = windows(in[3], w);
    if (h < 1 || width < 1) throw std::logic_error("expand: image too small at " + name);
    const std::int64_t area = std::int64_t{w.kernel} * w.kernel;
    const std::string conv = name + ".conv" + number, norm = name + ".norm" + number;
    // He et al. 2015 (delving deep), fan-out, as torchvision.
    const Init init = weight_init(std::sqrt(2.0 / static_cast<double>(channels * area)));
    const int weight = g_.parameter(conv + ".weight", {channels, in[1] * area}, -1, init);
    const int y = g_.op(OpKind::conv2d, conv, {in[0], channels, h, width}, {x}, {weight}, attributes_of(w));
    const int gain = g_.parameter(norm + ".weight", {channels}, -1, constant_init(1));
    const int bias = g_.parameter(norm + ".bias", {channels}, -1, constant_init(0));
    const int z = g_.op(OpKind::batch_norm, norm, g_.shape(y), {y}, {gain, bias});
    g_.also(norm + ".statistics", {channels, 2});
    return z;
  }

  int max_pool(const std::string& name, int x, const Window& w) {
    const Shape in = g_.shape(x);
    const Shape out{in[0], in[1], windows(in[2], w), windows(in[3], w)};
    const int y = g_.op(OpKind::max_pool, name, out, {x}, {}, attributes_of(w));
    g_.also(name + ".index", out, DType::int32);
    return y;
  }

  // The shortcut's projection comes after the convolutions, as torchvision registers it: gradient buckets follow.
  int block(const std::string& name, int x, std::int64_t width, int stride) {
    const std::int64_t out = net_.bottleneck ? 4 * width : width;
    const bool projected = stride != 1 || g_.shape(x)[1] != out;
    int y = 0;
    if (net_.bottleneck) {
      y = g_.relu(name + ".relu1", conv_norm(name, "1", x, width, {1, 1, 0}));
      y = g_.relu(name + ".relu2", conv_norm(name, "2", y, width, {3, stride, 1}));
      y = conv_norm(name, "3", y, out, {1, 1, 0});
    } else {
      y = g_.relu(name + ".relu1", conv_norm(name, "1", x, width, {3, stride, 1}));
      y = conv_norm(name, "2", y, out, {3, 1, 1});
    }
    const int shortcut = projected ? conv_norm(name + ".shortcut", "", x, out, {1, stride, 0}) : x;
    return g_.relu(name + ".relu", g_.add(name + ".add", y, shortcut));
  }

  void head(int x) {
    const Shape in = g_.shape(x);
    x = g_.op(OpKind::mean_pool, "pool", {in[0], in[1]}, {x});
    const Init init = weight_init(std::sqrt(1.0 / static_cast<double>(in[1])));
    g_.loss(g_.linear("head", x, {in[1], net_.classes}, -1, init, true), batch_.step_rows);
  }

  const ConvNet& net_;
  const Batch& batch_;
  GraphBuilder g_;
};

}  // namespace

Graph expand_cnn(const Model& model, const Batch& batch) { return ResNetGraph(model.cnn, batch).build(); }

void read_cnn_fields(Reader& reader, Model& model) {
  ConvNet& net = model.cnn;
  if (reader.has("blocks") || net.blocks.empty()) net.blocks = reader.integers("blocks", 1);
  std::int64_t blocks = 0;
  for (const std::int64_t n : net.blocks) blocks += n;
  if (net.blocks.empty() || net.blocks.size() > 6 || blocks > max_layers)
    reader.fail("blocks", "lists the residual blocks of each group", "ResNet-18 has blocks: [2, 2, 2, 2].");
  net.bottleneck = reader.flag("bottleneck", net.bottleneck);
  net.channels = reader.integer("channels", net.channels, 1, 4096);
  net.width = reader.integer("width", net.width, 1, 4096);
  net.classes = reader.integer("classes", net.classes, 1, max_rows);
  net.image = reader.integer("image", net.image, 1, 16384);
  model.layers = layer_list("stem", blocks > max_layers ? 0 : blocks, "head");
}

Model read_cnn(const Value& value, Problems& problems) {
  Model model;
  model.family = "cnn";
  model.where = value.where;
  Reader reader(value, "", problems);
  read_description(reader, model);
  read_cnn_fields(reader, model);
  reader.finish();
  return model;
}

}  // namespace trainwire
